// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A screen prints lines of at most 80 columns. It uses colours only on a
// terminal, and not if NO_COLOR is set (no-color.org).
type screen struct {
	mu      sync.Mutex // lines come from several goroutines
	file    *os.File
	colours bool
	steps   int
}

const columns = 80

// Colours, in the words of ECMA-48.
const (
	plain = ""
	bold  = "1"
	green = "32"
	red   = "31"
	amber = "33"
	faint = "2"
)

func newScreen(f *os.File) *screen {
	return &screen{file: f, colours: term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s *screen) paint(colour, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		line = clip(line)
		if s.colours && colour != plain {
			line = "\x1b[" + colour + "m" + line + "\x1b[0m"
		}
		fmt.Fprintln(s.file, line)
	}
}

// clip shortens a line that would wrap.
func clip(line string) string {
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	return string(runes[:columns-1]) + "…"
}

func (s *screen) line(format string, args ...any) { s.paint(plain, fmt.Sprintf(format, args...)) }

func (s *screen) step(title string) {
	s.steps++
	s.paint(bold, fmt.Sprintf("\n%d  %s", s.steps, title))
}

func (s *screen) item(format string, args ...any) {
	s.paint(plain, "   "+fmt.Sprintf(format, args...))
}

// command shows what is run, so that it can be tried by hand.
func (s *screen) command(words ...string) { s.paint(faint, "   $ "+strings.Join(words, " ")) }

func (s *screen) verdict(good bool, text string) {
	word, colour := "PASSED", green
	if !good {
		word, colour = "FAILED", red
	}
	s.paint(colour, fmt.Sprintf("\n%s  %s", word, text))
}
