/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structures that tell about the library, slots, tokens, sessions and
 * mechanisms. Each is read whole before the application's copy is touched.
 */
#include "call.h"

static void get_version(struct call *c, CK_VERSION *v)
{
	v->major = get_u8(c);
	v->minor = get_u8(c);
}

static bool valid(const struct call *c) { return !c->broken && c->rv == CKR_OK; }

void get_info(struct call *c, CK_INFO *out)
{
	CK_INFO i = { 0 };

	get_version(c, &i.cryptokiVersion);
	get_raw(c, i.manufacturerID, sizeof(i.manufacturerID));
	i.flags = get_u64(c);
	get_raw(c, i.libraryDescription, sizeof(i.libraryDescription));
	get_version(c, &i.libraryVersion);
	if (valid(c))
		*out = i;
}

void get_slotinfo(struct call *c, CK_SLOT_INFO *out)
{
	CK_SLOT_INFO i = { 0 };

	get_raw(c, i.slotDescription, sizeof(i.slotDescription));
	get_raw(c, i.manufacturerID, sizeof(i.manufacturerID));
	i.flags = get_u64(c);
	get_version(c, &i.hardwareVersion);
	get_version(c, &i.firmwareVersion);
	if (valid(c))
		*out = i;
}

void get_tokeninfo(struct call *c, CK_TOKEN_INFO *out)
{
	CK_TOKEN_INFO i = { 0 };

	get_raw(c, i.label, sizeof(i.label));
	get_raw(c, i.manufacturerID, sizeof(i.manufacturerID));
	get_raw(c, i.model, sizeof(i.model));
	get_raw(c, i.serialNumber, sizeof(i.serialNumber));
	i.flags = get_u64(c);
	i.ulMaxSessionCount = get_u64(c);
	i.ulSessionCount = get_u64(c);
	i.ulMaxRwSessionCount = get_u64(c);
	i.ulRwSessionCount = get_u64(c);
	i.ulMaxPinLen = get_u64(c);
	i.ulMinPinLen = get_u64(c);
	i.ulTotalPublicMemory = get_u64(c);
	i.ulFreePublicMemory = get_u64(c);
	i.ulTotalPrivateMemory = get_u64(c);
	i.ulFreePrivateMemory = get_u64(c);
	get_version(c, &i.hardwareVersion);
	get_version(c, &i.firmwareVersion);
	get_raw(c, i.utcTime, sizeof(i.utcTime));
	if (valid(c))
		*out = i;
}

void get_sessioninfo(struct call *c, CK_SESSION_INFO *out)
{
	CK_SESSION_INFO i = { 0 };

	i.slotID = get_u64(c);
	i.state = get_u64(c);
	i.flags = get_u64(c);
	i.ulDeviceError = get_u64(c);
	if (valid(c))
		*out = i;
}

void get_mechanisminfo(struct call *c, CK_MECHANISM_INFO *out)
{
	CK_MECHANISM_INFO i = { 0 };

	i.ulMinKeySize = get_u64(c);
	i.ulMaxKeySize = get_u64(c);
	i.flags = get_u64(c);
	if (valid(c))
		*out = i;
}
