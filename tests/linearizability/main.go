// Command linearizability checks with Porcupine whether a history of API requests is linearizable.
// It reads the requests as JSON lines and writes one JSON line: the result, the number of requests, and those that do
// not fit if there is no valid order.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

const timeout = 2 * time.Minute

type report struct {
	Result   porcupine.CheckResult `json:"result"`
	Requests int                   `json:"requests"`
	Unfit    []request             `json:"unfit"`
}

// read returns the requests of a history.
func read(in io.Reader) ([]request, error) {
	decoder := json.NewDecoder(bufio.NewReader(in))
	var requests []request
	for {
		var one request
		if err := decoder.Decode(&one); err == io.EOF {
			return requests, nil
		} else if err != nil {
			return nil, err
		}
		requests = append(requests, one)
	}
}

// check searches for an order of the requests in which every response is correct.
func check(requests []request) report {
	stored := findStored(requests)
	history := make([]porcupine.Operation, len(requests))
	for index, one := range requests {
		if one.Outcome == lost && stored[one.Value] != 0 {
			one.Revision = stored[one.Value]
		}
		history[index] = porcupine.Operation{ClientId: one.Client, Input: one, Call: one.Call, Return: one.Return}
	}
	result, info := porcupine.CheckOperationsVerbose(model(), history, timeout)
	found := report{Result: result, Requests: len(requests), Unfit: []request{}}
	if result == porcupine.Illegal {
		found.Unfit = findUnfit(requests, info)
	}
	return found
}

// findUnfit returns the requests that are missing in the longest valid order that was found, at most ten.
func findUnfit(requests []request, info porcupine.LinearizationInfo) []request {
	fits := map[int]bool{}
	for _, partition := range info.PartialLinearizations() {
		var longest []int
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
		for _, index := range longest {
			fits[index] = true
		}
	}
	unfit := []request{}
	for index, one := range requests {
		if !fits[index] && len(unfit) < 10 {
			unfit = append(unfit, one)
		}
	}
	return unfit
}

func main() {
	requests, err := read(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(check(requests)); err != nil {
		log.Fatal(err)
	}
}
