/* SPDX-License-Identifier: Apache-2.0 */
/* The calls beyond PKCS#11 with which the module gets its connections. */
#ifndef ONESLOT_EXTENSION_H
#define ONESLOT_EXTENSION_H

#include "connection.h"

#include "cryptoki.h"

/* The first words of a conversation: who we are, and which version we speak. */
CK_RV extension_hello(struct connection *n);

/*
 * Makes n a further connection, with the help of control. CKR_DEVICE_ERROR:
 * control is of no use any more. CKR_HOST_MEMORY: there can be no more.
 */
CK_RV extension_attach(struct connection *control, struct connection *n);

#endif
