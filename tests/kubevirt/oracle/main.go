// Command oracle answers conformance questions with KubeVirt's own code.
// It reads JSON lines {"id", "op", "input"} and writes JSON lines {"id", "result"} in the same order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"k8s.io/klog/v2"
	kubevirtlog "kubevirt.io/client-go/log"
)

type question struct {
	ID    string          `json:"id"`
	Op    string          `json:"op"`
	Input json.RawMessage `json:"input"`
}

type result struct {
	ID     string `json:"id"`
	Result any    `json:"result"`
}

// answer returns the result of one operation; a panic of KubeVirt's code is a result, too.
func answer(asked question) (found any) {
	defer func() {
		if cause := recover(); cause != nil {
			found = map[string]string{"panic": fmt.Sprint(cause)}
		}
	}()
	operation, known := operations[asked.Op]
	if !known {
		return failure(fmt.Errorf("unknown operation %q", asked.Op))
	}
	found, err := operation(asked.Input)
	if err != nil {
		return failure(err)
	}
	return found
}

func serve(in io.Reader, out io.Writer) error {
	lines, written := json.NewDecoder(bufio.NewReader(in)), bufio.NewWriter(out)
	encoder := json.NewEncoder(written)
	for {
		var asked question
		if err := lines.Decode(&asked); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(result{asked.ID, answer(asked)}); err != nil {
			return err
		}
		if err := written.Flush(); err != nil {
			return err
		}
	}
}

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	kubevirtlog.Log.SetIOWriter(io.Discard)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
