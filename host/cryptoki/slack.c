/* SPDX-License-Identifier: Apache-2.0 */

#include <sys/prctl.h>

/*
 * The module gives its engine this slack of timers (module/spawn.c), and who an engine
 * starts inherits it. A vendor's library that polls its HSM must not wait longer than in
 * any other process. This runs before the first further thread is there.
 */
#define ENGINE_SLACK_NS 1000000
#define STANDARD_SLACK_NS 50000ul

__attribute__((constructor)) static void take_slack_back(void)
{
        if (prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == ENGINE_SLACK_NS)
                prctl(PR_SET_TIMERSLACK, STANDARD_SLACK_NS, 0, 0, 0);
}
