// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
)

// ending is a member whose certificate ends soon. Whose is connected sees another
// certificate, too.
type ending struct {
	*fake.Member
	end       time.Time
	connected bool
}

func (e ending) Deadlines() []member.Deadline {
	all := []member.Deadline{{What: "certificate of this client", End: e.end, Warning: "it ends soon"}}
	if e.connected {
		all = append(all, member.Deadline{What: "certificate of the appliance"})
	}
	return all
}

// O2, field-L9: status shows what of a member ends, whichever application knows.
func TestStatusShowsDeadlines(t *testing.T) {
	c, err := config.Parse("test.toml", []byte("group_only = true\n[[member]]\nname = \"a\"\nmodule = \"/none.so\"\ntoken = \"a\"\n[[group]]\nname = \"g\"\nmembers = [\"a\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC)
	applications := 0
	reach := func(config.Member) member.Member {
		applications++
		return ending{fake.New("a", pin), end, applications == 2}
	}
	w := &world{T: t, engine: New(c, reach, slog.New(slog.NewTextHandler(io.Discard, nil)))}
	for range 3 {
		a := w.application()
		a.begun = time.Unix(int64(applications), 0)
		w.engine.track(a, true)
	}
	got := w.engine.Status().Groups[0].Members[0].Deadlines
	if len(got) != 2 || got[0].What != "certificate of this client" || !got[0].End.Equal(end) || got[0].Warning != "it ends soon" || got[1].Warning != "" {
		t.Errorf("status shows %+v", got)
	}
}
