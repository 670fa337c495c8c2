// SPDX-License-Identifier: Apache-2.0

// P11stress is an application under load: many threads that use a token, and a
// check of every single answer in software. Each second it prints a line; at
// the end, after the given time or on an interrupt, the totals. Its exit code is
// 0 only if no call failed and every answer was right.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

type options struct {
	module, token, pin, key, work string
	threads                       int
	duration, pause               time.Duration
	deaf                          bool
}

func main() {
	var o options
	flag.StringVar(&o.module, "module", os.Getenv("MODULE"), "PKCS#11 `library`")
	flag.StringVar(&o.token, "token", os.Getenv("TOKEN"), "`label` of the token")
	flag.StringVar(&o.pin, "pin", os.Getenv("PIN"), "user `PIN`")
	flag.StringVar(&o.key, "key", "stress", "`label` of the keys; those that are missing are made")
	flag.StringVar(&o.work, "work", "rsa,ecdsa,hmac,cbc,gcm,digest,random", "`kinds` of work")
	flag.IntVar(&o.threads, "threads", 16, "number of threads")
	flag.DurationVar(&o.duration, "for", 10*time.Second, "how long to work; 0: until interrupted")
	flag.DurationVar(&o.pause, "pause", 0, "pause of each thread after each call")
	flag.BoolVar(&o.deaf, "deaf", false, "do not end on an interrupt from the terminal")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "p11stress:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	if o.deaf {
		signal.Ignore(os.Interrupt)
	} else {
		signal.Notify(end, os.Interrupt)
	}
	t, err := token.Open(o.module, o.token)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	s, err := t.Login(o.pin)
	if err != nil {
		return err
	}
	works, err := o.works(t, s)
	if err != nil {
		return err
	}
	load := t.StartPaced(o.pause, o.threads, works...)
	var over <-chan time.Time
	if o.duration > 0 {
		over = time.After(o.duration)
	}
	report(load, over, end)
	total, problems := load.Stop()
	fmt.Printf("total: %d verified, %d failed, %d wrong, longest %v\n",
		total.Verified, total.Failed, total.Wrong, total.Longest.Round(time.Millisecond))
	return problems
}

// report prints what each second brought.
func report(load *token.Load, over <-chan time.Time, end <-chan os.Signal) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-over:
			return
		case <-end:
			return
		}
		r := load.Slice()
		fmt.Printf("second %d: %d verified, %d failed, %d wrong, longest %v\n",
			n, r.Verified, r.Failed, r.Wrong, r.Longest.Round(100*time.Microsecond))
	}
}

// works prepares the kinds of work that were asked for.
func (o options) works(t *token.Token, s p11.SessionHandle) ([]token.Work, error) {
	var works []token.Work
	for kind := range strings.SplitSeq(o.work, ",") {
		w, err := o.prepare(t, s, kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		works = append(works, w)
	}
	return works, nil
}

func (o options) prepare(t *token.Token, s p11.SessionHandle, kind string) (token.Work, error) {
	switch kind {
	case "rsa":
		pair, err := o.pair(t, s, p11.CKK_RSA, t.RSA)
		if err != nil {
			return token.Work{}, err
		}
		public, err := t.RSAPublic(s, pair.Public)
		return t.SignRSA(pair.Private, public), err
	case "ecdsa":
		pair, err := o.pair(t, s, p11.CKK_EC, t.EC)
		if err != nil {
			return token.Work{}, err
		}
		public, err := t.ECPublic(s, pair.Public)
		return t.SignEC(pair.Private, public), err
	case "hmac":
		key, value, err := t.Secret(s, p11.CKK_GENERIC_SECRET, false)
		return t.MAC(key, value), err
	case "cbc", "gcm":
		key, value, err := t.Secret(s, p11.CKK_AES, false)
		if kind == "gcm" {
			return t.EncryptGCM(key, value), err
		}
		return t.EncryptCBC(key, value), err
	case "digest":
		return t.Hash(), nil
	case "random":
		return t.Random(), nil
	}
	return token.Work{}, errors.New("no such kind of work")
}

// pair finds the key pair of this type and label, or makes it.
func (o options) pair(t *token.Token, s p11.SessionHandle, kind uint, generate func(p11.SessionHandle, ...*p11.Attribute) (token.Pair, error)) (token.Pair, error) {
	var found [2][]p11.ObjectHandle
	for i, class := range []uint{p11.CKO_PUBLIC_KEY, p11.CKO_PRIVATE_KEY} {
		var err error
		found[i], err = t.Find(s, token.Class(class), token.Label(o.key), p11.NewAttribute(p11.CKA_KEY_TYPE, kind))
		if err != nil {
			return token.Pair{}, err
		}
	}
	switch {
	case len(found[0]) == 1 && len(found[1]) == 1:
		return token.Pair{Public: found[0][0], Private: found[1][0]}, nil
	case len(found[0])+len(found[1]) > 0:
		return token.Pair{}, fmt.Errorf("label %q: %d public and %d private keys", o.key, len(found[0]), len(found[1]))
	}
	return generate(s, token.Label(o.key))
}
