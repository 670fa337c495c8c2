/* SPDX-License-Identifier: Apache-2.0 */

/* What plain requests are answered with on the direct path. */
#define _GNU_SOURCE
#include "direct.h"
#include "../../module/calls_gen.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer parameters are for Go. */
#define PARAMETER_MAX 256

/* Where an output buffer starts, as in session.go, and how far it may grow. */
#define SPARE_OUTPUT ((uint64_t)64 << 10)
#define OUTPUT_MAX ((uint64_t)256 << 10)

/* Bytes of an answer before its reply: u32 call, u64 rv, u32 length. */
#define ANSWER_HEAD 16
/* Before a byte string: u8 present, u64 length. */
#define BYTES_HEAD 9
/* Before the answers: u32 length of the rest, u8 message, u32 how many. */
#define FRAME_HEAD 9
#define MESSAGE_AT 4
#define COUNT_AT 5
#define MESSAGE_ANSWER 1

/* What is left to read. Reading past the end, or a flag that is none, makes it
 * bad: the request is then for Go, which knows what to say. */
struct reader {
        const uint8_t *at, *end;
        bool bad;
};

static const uint8_t *take(struct reader *r, uint64_t n)
{
        const uint8_t *at = r->at;

        if (r->bad || n > (uint64_t)(r->end - r->at)) {
                r->bad = true;
                return NULL;
        }
        r->at += n;
        return at;
}

/* An integer of so many bytes. */
static uint64_t take_number(struct reader *r, size_t size)
{
        const uint8_t *p = take(r, size);
        uint64_t v = 0;

        if (p)
                memcpy(&v, p, size);
        return v;
}

static uint8_t take8(struct reader *r) { return (uint8_t)take_number(r, 1); }
static uint32_t take32(struct reader *r) { return (uint32_t)take_number(r, 4); }
static uint64_t take64(struct reader *r) { return take_number(r, 8); }

/* A byte string that is there, or room that is: NULL is for Go. */
static uint64_t take_present(struct reader *r)
{
        if (take8(r) != 1)
                r->bad = true;
        return take64(r);
}

struct bytes {
        CK_BYTE *at;
        CK_ULONG length;
};

static struct bytes take_bytes(struct reader *r)
{
        uint64_t n = take_present(r);

        return (struct bytes){ (CK_BYTE *)take(r, n), n };
}

/* The arguments of a call, which must use up their length. */
static struct reader arguments(struct reader *r, uint32_t *number)
{
        struct reader a = { 0 };
        uint32_t n;

        *number = take32(r);
        n = take32(r);
        a.at = take(r, n);
        a.end = a.at + (a.at ? n : 0);
        a.bad = r->bad;
        return a;
}

static bool is_raw(const struct oneslot_direct *d, uint64_t type)
{
        for (size_t i = 0; i < d->raws; i++)
                if (d->raw[i] == type)
                        return true;
        return false;
}

static bool is_forbidden(const struct oneslot_direct *d, uint64_t key)
{
        for (int i = 0; i < ONESLOT_FORBIDDEN; i++)
                if (key && atomic_load(&d->forbidden[i]) == key)
                        return true;
        return false;
}

struct beginning {
        CK_MECHANISM mechanism;
        uint64_t key;
        _Alignas(16) uint8_t parameter[PARAMETER_MAX]; /* modules read structures there */
};

static bool take_beginning(const struct oneslot_direct *d, struct reader *r, bool keyed, struct beginning *b)
{
        const uint8_t *parameter;
        uint8_t present;
        uint64_t length;

        take64(r); /* the session: it is this one */
        if (take8(r) != 1)
                return false;
        b->mechanism.mechanism = take64(r);
        present = take8(r);
        length = take64(r);
        b->mechanism.pParameter = NULL;
        b->mechanism.ulParameterLen = 0;
        if (present > 1 || (!present && length))
                return false;
        if (present && length) {
                if (!is_raw(d, b->mechanism.mechanism))
                        return false;
                parameter = take(r, length);
                if (!parameter || length > sizeof b->parameter)
                        return false;
                memcpy(b->parameter, parameter, length);
                b->mechanism.pParameter = b->parameter;
                b->mechanism.ulParameterLen = length;
        }
        b->key = keyed ? take64(r) : 0;
        return !r->bad && r->at == r->end && !is_forbidden(d, b->key);
}

/* Makes room for n bytes of output behind what is written. */
static bool make_room(struct oneslot_direct *d, size_t written, uint64_t n)
{
        uint8_t *bigger;
        size_t size = written + n;

        if (size <= d->room)
                return true;
        bigger = malloc(size);
        if (!bigger)
                return false;
        memcpy(bigger, d->out, written);
        explicit_bzero(d->out, d->room);
        free(d->out);
        d->out = bigger;
        d->room = size;
        return true;
}

static size_t put_u32(uint8_t *p, size_t at, uint32_t v)
{
        memcpy(p + at, &v, sizeof v);
        return at + sizeof v;
}

static size_t put_u64(uint8_t *p, size_t at, uint64_t v)
{
        memcpy(p + at, &v, sizeof v);
        return at + sizeof v;
}

static size_t put_head(struct oneslot_direct *d, size_t at, uint32_t number, CK_RV rv, uint32_t length)
{
        at = put_u32(d->out, at, number);
        at = put_u64(d->out, at, rv);
        return put_u32(d->out, at, length);
}

static size_t put_present(struct oneslot_direct *d, size_t at, bool present, uint64_t n)
{
        d->out[at] = present;
        return put_u64(d->out, at + 1, n);
}

static bool has_reply(CK_RV rv)
{
        return rv == CKR_OK || rv == CKR_BUFFER_TOO_SMALL || rv == CKR_ATTRIBUTE_SENSITIVE ||
               rv == CKR_ATTRIBUTE_TYPE_INVALID;
}

/* Calls a function that turns bytes into others and writes its answer, by the
 * rules of output() in session.go. Returns where the answer ends. */
static size_t through(struct oneslot_direct *d, size_t at, uint32_t number, fn_in_out f, struct bytes in, uint64_t room)
{
        uint64_t size = SPARE_OUTPUT + 2 * in.length;
        size_t body = at + ANSWER_HEAD + BYTES_HEAD;
        CK_ULONG n = 0;
        CK_RV rv;

        if (size > room)
                size = room;
        for (;;) {
                if (!make_room(d, body, size))
                        return put_head(d, at, number, CKR_HOST_MEMORY, 0);
                n = size;
                rv = f ? f(d->session, in.at, in.length, d->out + body, &n) : CKR_FUNCTION_NOT_SUPPORTED;
                if (rv != CKR_BUFFER_TOO_SMALL || n <= size || n > room || n > OUTPUT_MAX)
                        break;
                size = n;
        }
        if (rv == CKR_OK && n > size)
                rv = CKR_GENERAL_ERROR; /* it wrote where it must not, or counts wrongly */
        if (!has_reply(rv))
                return put_head(d, at, number, rv, 0);
        if (rv == CKR_OK) {
                put_head(d, at, number, rv, (uint32_t)(BYTES_HEAD + n));
                put_present(d, at + ANSWER_HEAD, true, n);
                return body + n;
        }
        at = put_head(d, at, number, rv, BYTES_HEAD);
        if (rv == CKR_BUFFER_TOO_SMALL)
                return put_present(d, at, false, n);
        return put_present(d, at, true, 0);
}

static CK_RV start(struct oneslot_direct *d, fn_init f, struct beginning *b)
{
        return f ? f(d->session, &b->mechanism, b->key) : CKR_FUNCTION_NOT_SUPPORTED;
}

/* C_EncryptInit has a reply for what the module wrote into the parameter, which is
 * nothing: parameters with pointers are for Go. */
static size_t put_begun(struct oneslot_direct *d, size_t at, uint32_t number, CK_RV rv)
{
        if (number != CALL_C_ENCRYPT_INIT || !has_reply(rv))
                return put_head(d, at, number, rv, 0);
        at = put_head(d, at, number, rv, BYTES_HEAD);
        return put_present(d, at, true, 0);
}

/* Answers an Init and what it begins. Returns the length of the frame, 0 if the
 * request is for Go. */
static size_t pair(struct oneslot_direct *d, struct reader *r)
{
        CK_FUNCTION_LIST *f = d->f;
        struct beginning b;
        struct bytes in, signature = { 0 };
        uint32_t first, second;
        uint64_t room = 0;
        fn_in_out does = NULL;
        fn_init begins;
        struct reader a = arguments(r, &first), c = arguments(r, &second);
        size_t at = FRAME_HEAD;
        CK_RV rv;

        if (r->bad || r->at != r->end || second != first + 1)
                return 0;
        switch (first) {
        case CALL_C_ENCRYPT_INIT:
                begins = f->C_EncryptInit;
                does = f->C_Encrypt;
                break;
        case CALL_C_DECRYPT_INIT:
                begins = f->C_DecryptInit;
                does = f->C_Decrypt;
                break;
        case CALL_C_SIGN_INIT:
                begins = f->C_SignInit;
                does = f->C_Sign;
                break;
        case CALL_C_VERIFY_INIT:
                begins = f->C_VerifyInit;
                break;
        case CALL_C_DIGEST_INIT:
                begins = NULL;
                does = f->C_Digest;
                break;
        default:
                return 0;
        }
        if (!take_beginning(d, &a, first != CALL_C_DIGEST_INIT, &b))
                return 0;
        take64(&c); /* the session */
        in = take_bytes(&c);
        if (first == CALL_C_VERIFY_INIT)
                signature = take_bytes(&c);
        else
                room = take_present(&c);
        if (c.bad || c.at != c.end)
                return 0;

        oneslot_direct_begin(d);
        if (first == CALL_C_DIGEST_INIT)
                rv = f->C_DigestInit ? f->C_DigestInit(d->session, &b.mechanism) : CKR_FUNCTION_NOT_SUPPORTED;
        else
                rv = start(d, begins, &b);
        at = put_begun(d, at, first, rv);
        if (rv == CKR_OK && first == CALL_C_VERIFY_INIT) {
                rv = f->C_Verify ? f->C_Verify(d->session, in.at, in.length, signature.at, signature.length)
                                 : CKR_FUNCTION_NOT_SUPPORTED;
                at = put_head(d, at, second, rv, 0);
                put_u32(d->out, COUNT_AT, 2);
        } else if (rv == CKR_OK) {
                at = through(d, at, second, does, in, room);
                put_u32(d->out, COUNT_AT, 2);
        } else {
                put_u32(d->out, COUNT_AT, 1);
        }
        return at;
}

static size_t generate_random(struct oneslot_direct *d, struct reader *r)
{
        CK_FUNCTION_LIST *f = d->f;
        uint32_t number;
        struct reader a = arguments(r, &number);
        size_t body = FRAME_HEAD + ANSWER_HEAD + BYTES_HEAD;
        uint64_t n;
        CK_RV rv;

        if (r->bad || r->at != r->end || number != CALL_C_GENERATE_RANDOM)
                return 0;
        take64(&a); /* the session */
        n = take_present(&a);
        if (a.bad || a.at != a.end || n > SPARE_OUTPUT || !make_room(d, body, n))
                return 0;
        oneslot_direct_begin(d);
        rv = f->C_GenerateRandom ? f->C_GenerateRandom(d->session, d->out + body, n) : CKR_FUNCTION_NOT_SUPPORTED;
        put_u32(d->out, COUNT_AT, 1);
        if (rv != CKR_OK)
                return has_reply(rv) ? 0 : put_head(d, FRAME_HEAD, number, rv, 0);
        put_head(d, FRAME_HEAD, number, rv, (uint32_t)(BYTES_HEAD + n));
        put_present(d, FRAME_HEAD + ANSWER_HEAD, true, n);
        return body + n;
}

size_t oneslot_direct_answer(struct oneslot_direct *d)
{
        struct reader r = { d->in + 4, d->in + d->used, false };
        size_t length = 0;

        switch (take32(&r)) {
        case 1:
                length = generate_random(d, &r);
                break;
        case 2:
                length = pair(d, &r);
                break;
        }
        if (!length)
                return 0;
        put_u32(d->out, 0, (uint32_t)(length - 4));
        d->out[MESSAGE_AT] = MESSAGE_ANSWER;
        return length;
}
