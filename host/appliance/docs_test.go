// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// docs/appliance.md has every option of an appliance: of a token and of all, in its examples
// or its text; of the limits with their defaults, and no other.
func TestTheManualHasEveryOption(t *testing.T) {
	text, err := os.ReadFile("../../docs/appliance.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	for _, kind := range []reflect.Type{reflect.TypeOf(Config{}), reflect.TypeOf(Token{})} {
		for i := range kind.NumField() {
			key := kind.Field(i).Tag.Get("toml")
			if said := regexp.MustCompile("(?m)(^|[#`,] ?|or )" + key + " = |`\\[" + key + "\\]`|^\\[\\[" + key + "\\]\\]$"); !said.MatchString(manual) {
				t.Errorf("the manual does not have %s", key)
			}
		}
	}
	_, table, _ := strings.Cut(manual, "\n## Limits\n")
	said := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+) \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		values := strings.Split(row[2], ", ")
		for i, key := range strings.Split(row[1], ", ") {
			said[strings.Trim(key, "`")] = strings.Trim(values[i], "`\"")
		}
	}
	limits := reflect.ValueOf(defaultLimits)
	for i := range limits.NumField() {
		key, preset := limits.Type().Field(i).Tag.Get("toml"), limits.Field(i).Interface()
		if wait, ok := preset.(Duration); ok {
			if d, err := time.ParseDuration(said[key]); err != nil || d != time.Duration(wait) {
				t.Errorf("limits: the manual says that %s is %q, not %v", key, said[key], time.Duration(wait))
			}
		} else if said[key] != fmt.Sprint(preset) {
			t.Errorf("limits: the manual says that %s is %q, not %v", key, said[key], preset)
		}
		delete(said, key)
	}
	if len(said) > 0 {
		t.Errorf("limits that there are not: %v", said)
	}
}
