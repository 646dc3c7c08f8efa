// Check the histories of registers for linearizability.
//
// Standard input: one JSON object a line, an operation that took effect. Exit code 0: linearizable; 1: not, and the key is named;
// 3: not decided in time. Operations without an answer have the largest return time.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

type entry struct {
	Client   int    `json:"client"`
	Key      string `json:"key"`
	Kind     string `json:"kind"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Value    string `json:"value"`
	Answered bool   `json:"answered"`
	Called   int64  `json:"called"`
	Returned int64  `json:"returned"`
}

// A register: a read returns its value, a swap takes effect only on the value that it expects. An unanswered read tells nothing.
func step(state, input, output interface{}) (bool, interface{}) {
	value, e := state.(string), input.(entry)
	if e.Kind == "read" {
		return !e.Answered || e.Value == value, value
	}
	return e.Before == value, e.After
}

var register = porcupine.Model{
	Init: func() interface{} { return "" },
	Step: step,
	DescribeOperation: func(input, output interface{}) string {
		e := input.(entry)
		if e.Kind == "read" {
			return fmt.Sprintf("read -> %q", e.Value)
		}
		return fmt.Sprintf("swap %q -> %q", e.Before, e.After)
	},
}

func main() {
	histories := map[string][]porcupine.Operation{}
	operations := 0
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintf(os.Stderr, "checker: %v in %q\n", err, lines.Text())
			os.Exit(2)
		}
		histories[e.Key] = append(histories[e.Key], porcupine.Operation{
			ClientId: e.Client, Input: e, Call: e.Called, Return: e.Returned,
		})
		operations++
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintf(os.Stderr, "checker: %v\n", err)
		os.Exit(2)
	}
	keys := make([]string, 0, len(histories))
	for key := range histories {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	worst := 0
	for _, key := range keys {
		result, info := porcupine.CheckOperationsVerbose(register, histories[key], 30*time.Second)
		switch result {
		case porcupine.Illegal:
			page := key + ".html"
			if len(os.Args) > 1 {
				page = os.Args[1] + "/" + page
				if err := porcupine.VisualizePath(register, info, page); err != nil {
					page = err.Error()
				}
			}
			fmt.Printf("%s is not linearizable: %d operations, see %s\n", key, len(histories[key]), page)
			worst = 1
		case porcupine.Unknown:
			fmt.Printf("%s is not decided within 30 s: %d operations\n", key, len(histories[key]))
			if worst == 0 {
				worst = 3
			}
		}
	}
	fmt.Printf("%d operations on %d registers\n", operations, len(keys))
	os.Exit(worst)
}
