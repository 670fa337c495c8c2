// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/local"
	"oneslot.dev/oneslot/member/remote"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

const (
	// connectPatience is how long a tool waits for a member to be found. Some
	// vendor modules look for their HSMs on the network first.
	connectPatience = 30 * time.Second

	// Tools ask for little at a time. Joining a domain derives keys and makes
	// objects, which slow tokens take seconds for.
	toolSilence = 20 * time.Second
	toolStuck   = 2 * time.Minute
)

// reach makes the member that the configuration describes. The process of a
// local one gets this one's environment, changed by the configuration's.
func reach(cfg *config.Config, m *config.Member) (member.Member, error) {
	if m.Address != "" {
		return remote.New(remote.Config{
			Name:        m.Name,
			Address:     m.Address,
			Token:       m.Token,
			Certificate: m.Certificate,
			Key:         m.Key,
			Server:      m.Server,
			ServerName:  m.ServerName,
			ServerCA:    m.ServerCA,
		}), nil
	}
	program, err := memberProgram(cfg)
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(m.Env)) {
		env = append(env, name+"="+m.Env[name]) // the last one counts
	}
	return local.New(local.Config{
		Name:    m.Name,
		Program: program,
		Module:  m.Module,
		Token:   m.Token,
		Serial:  m.Serial,
		Env:     env,
	}), nil
}

// memberProgram is the configured one, else the one beside this program, so
// that a build that is not installed uses its own, else the one in $PATH.
func memberProgram(cfg *config.Config) (string, error) {
	const name = "oneslot-member"
	wanted := cfg.MemberProgram
	if wanted == "" {
		if self, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(self), name)
			if _, err := os.Stat(beside); err == nil {
				return beside, nil
			}
		}
		wanted = name
	}
	path, err := exec.LookPath(wanted)
	if err != nil {
		return "", fmt.Errorf("member program: %w: install oneslot-member beside oneslot, or set member_program", err)
	}
	return path, nil
}

// connect connects to a member of the configuration, for one tool's use.
func (d *desk) connect(ctx context.Context, cfg *config.Config, m *config.Member) (member.Conn, error) {
	made, err := d.reach(cfg, m)
	if err != nil {
		return nil, err
	}
	return connect(ctx, made)
}

func connect(ctx context.Context, m member.Member) (member.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	return m.Connect(ctx)
}

// call makes one call in a session of its own, on the token as it is.
func call(ctx context.Context, conn member.Conn, c wire.Call) error {
	session, err := conn.Open(wire.TokenView)
	if err != nil {
		return err
	}
	defer session.Close()
	return do(ctx, session, c)
}

// do is call in a session that is there.
func do(ctx context.Context, session member.Session, c wire.Call) error {
	if _, err := session.Do(ctx, member.Limits{Silence: toolSilence, Stuck: toolStuck}, c); err != nil {
		return err
	}
	if rv := c.Result(); rv != pkcs11.CKR_OK {
		return rv
	}
	return nil
}

// joinDomain makes a member's token part of the domain of the secret, and
// returns the domain's identifier. Joining the same domain again changes nothing.
func (d *desk) joinDomain(ctx context.Context, cfg *config.Config, m *config.Member, soPIN, pin, secret pkcs11.PIN) ([]byte, error) {
	conn, err := d.connect(ctx, cfg, m)
	if err != nil {
		return nil, err
	}
	defer member.Leave(conn)
	export, err := exportPermitted(cfg, m.Name)
	if err != nil {
		return nil, err
	}
	join := &wire.Join{Officer: soPIN, Pin: pin, Secret: secret, Export: export}
	if err := call(ctx, conn, join); err != nil {
		return nil, fmt.Errorf("member %s: did not join: %w", m.Name, explain(err, joinAdvice, pinAdvice))
	}
	return join.Domain, nil
}

// exportPermitted says whether the member's groups permit key export (rule K7). It
// makes another domain of a secret, so they must agree.
func exportPermitted(cfg *config.Config, name string) (bool, error) {
	var permit, not []string
	for i := range cfg.Groups {
		g := &cfg.Groups[i]
		switch {
		case !slices.Contains(g.Members, name):
		case g.KeyExport:
			permit = append(permit, g.Name)
		default:
			not = append(not, g.Name)
		}
	}
	if len(permit) > 0 && len(not) > 0 {
		return false, fmt.Errorf("member %s: is in %s with key_export = true and in %s without it, and a token can be in one domain only: make the groups agree",
			name, strings.Join(permit, ", "), strings.Join(not, ", "))
	}
	return len(permit) > 0, nil
}

// pinAdvice says what to do about the answers of a token that refuses a PIN.
var pinAdvice = map[pkcs11.RV]string{
	pkcs11.CKR_PIN_INCORRECT:            "the PIN was wrong; tokens lock after a few wrong ones, so look it up before the next try",
	pkcs11.CKR_PIN_LOCKED:               "too many wrong PINs: unlock it with the vendor's tool",
	pkcs11.CKR_PIN_LEN_RANGE:            "the PIN is too short or too long for this token",
	pkcs11.CKR_PIN_EXPIRED:              "the PIN has to be changed first, with the vendor's tool",
	pkcs11.CKR_TOKEN_WRITE_PROTECTED:    "the token is write-protected",
	pkcs11.CKR_USER_PIN_NOT_INITIALIZED: "the token has no user PIN yet: set one with the vendor's tool",
}

// joinAdvice is the same for X_Join, which tells the two PINs apart.
var joinAdvice = map[pkcs11.RV]string{
	pkcs11.CKR_PIN_INCORRECT:          "the security officer's PIN was wrong; tokens lock after a few wrong ones, so look it up before the next try",
	pkcs11.CKR_PIN_INVALID:            "the user PIN was wrong; tokens lock after a few wrong ones, so look it up before the next try",
	pkcs11.CKR_DOMAIN_PARAMS_INVALID:  "the token is in another domain: use that domain's secret, or initialise the token anew, which destroys its keys. One secret makes two domains, with key_export = true in the group and without",
	pkcs11.CKR_ATTRIBUTE_TYPE_INVALID: "the token cannot guard keys by a trusted one, so it can copy them only by key export, which is weaker: whoever holds its PIN can take keys out of it. Permit that with key_export = true in its group, and join every member of the group then",
	pkcs11.CKR_KEY_SIZE_RANGE:         "the domain secret is too short",
	pkcs11.CKR_FUNCTION_NOT_SUPPORTED: "the member program is of another version, or the token cannot hold a domain key",
}

// explain adds what to do to the answers of a token that an operator can mend.
// The first table that knows the answer counts.
func explain(err error, advice ...map[pkcs11.RV]string) error {
	var rv pkcs11.RV
	if !errors.As(err, &rv) {
		return err
	}
	for _, table := range advice {
		if text := table[rv]; text != "" {
			return fmt.Errorf("%w: %s", err, text)
		}
	}
	return err
}
