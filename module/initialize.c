/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that the module answers itself. */
#include "engine.h"
#include "process.h"

#include <stdatomic.h>

/*
 * All that PKCS#11 2.40 (section 5.4) lets an application say. Threads are no
 * matter, the module makes none. Neither are mutex callbacks without
 * CKF_OS_LOCKING_OK: the module's locks guard only its own short sections, and
 * NULL arguments have to be safe for threads as well, since servers pass them.
 */
static CK_RV check_arguments(const CK_C_INITIALIZE_ARGS *args)
{
	int callbacks;

	if (!args)
		return CKR_OK;
	callbacks = !!args->CreateMutex + !!args->DestroyMutex +
		    !!args->LockMutex + !!args->UnlockMutex;
	if (args->pReserved || (callbacks != 0 && callbacks != 4))
		return CKR_ARGUMENTS_BAD;
	return CKR_OK;
}

CK_RV C_Initialize(CK_VOID_PTR args)
{
	CK_RV rv = check_arguments(args);
	int fd;

	if (rv == CKR_OK)
		rv = process_claim();
	if (rv != CKR_OK)
		return rv;
	fd = engine_connect();
	if (fd >= 0)
		return process_connected(fd);
	process_failed();
	return CKR_GENERAL_ERROR;
}

CK_RV C_Finalize(CK_VOID_PTR reserved)
{
	if (!process_initialized())
		return CKR_CRYPTOKI_NOT_INITIALIZED;
	return reserved ? CKR_ARGUMENTS_BAD : process_finalize();
}

static CK_RV not_parallel(void)
{
	return process_initialized() ? CKR_FUNCTION_NOT_PARALLEL
				     : CKR_CRYPTOKI_NOT_INITIALIZED;
}

CK_RV C_GetFunctionStatus(CK_SESSION_HANDLE session)
{
	(void)session;
	return not_parallel();
}

CK_RV C_CancelFunction(CK_SESSION_HANDLE session)
{
	(void)session;
	return not_parallel();
}
