package main

import (
	"maps"

	"github.com/anishathalye/porcupine"
)

// Outcomes of requests. The outcome of a lost request is unknown: it may have been carried out or not.
const (
	done     = "done"
	exists   = "exists"
	missing  = "missing"
	conflict = "conflict"
	lost     = "lost"
)

// unread is the revision of an object that a lost request may have stored and that no response contains.
const unread = -1

// object is a stored object; every write has another value.
type object struct {
	Revision int64  `json:"revision"`
	Value    string `json:"value"`
}

// request is a request with its response; the times are those of one monotonic clock.
type request struct {
	Client   int               `json:"client"`
	Kind     string            `json:"kind"`
	Key      string            `json:"key"`
	Value    string            `json:"value"`
	Expected int64             `json:"expected"`
	Outcome  string            `json:"outcome"`
	Revision int64             `json:"revision"`
	Objects  map[string]object `json:"objects"`
	Call     int64             `json:"call"`
	Return   int64             `json:"return"`
}

// state is the content of the store; the revision is the highest one that is known to be used.
type state struct {
	revision int64
	objects  map[string]object
}

func (now state) with(key string, stored object) state {
	objects := maps.Clone(now.objects)
	objects[key] = stored
	return state{max(now.revision, stored.Revision), objects}
}

func (now state) without(key string) state {
	objects := maps.Clone(now.objects)
	delete(objects, key)
	return state{now.revision, objects}
}

// findStored returns the revisions of all values that responses contain.
func findStored(requests []request) map[string]int64 {
	found := map[string]int64{}
	for _, one := range requests {
		if one.Kind == "get" && one.Outcome == done {
			found[one.Value] = one.Revision
		}
		for _, stored := range one.Objects {
			found[stored.Value] = stored.Revision
		}
	}
	return found
}

// model is a store of objects with compare-and-swap, whose revisions increase with every write.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{state{objects: map[string]object{}}} },
		Step: func(now, input, _ interface{}) []interface{} {
			var next []interface{}
			for _, possible := range step(now.(state), input.(request)) {
				next = append(next, possible)
			}
			return next
		},
		Equal: func(one, other interface{}) bool {
			first, second := one.(state), other.(state)
			return first.revision == second.revision && maps.Equal(first.objects, second.objects)
		},
	}
	return nondeterministic.ToModel()
}

// step returns the states after a request; none if the response is wrong in this state.
func step(now state, one request) []state {
	current, present := now.objects[one.Key]
	switch one.Kind {
	case "initial":
		return []state{{one.Revision, one.Objects}}
	case "list":
		return when(one.Revision >= now.revision && maps.Equal(now.objects, one.Objects), state{one.Revision, now.objects})
	case "get":
		if one.Outcome == missing {
			return when(!present, now)
		}
		return when(present && current == object{one.Revision, one.Value}, now)
	case "create":
		return write(now, one, !present, now.with(one.Key, stored(one)), map[string]bool{exists: present})
	case "update", "delete":
		matches := present && (one.Expected == 0 || one.Expected == current.Revision)
		after := now.with(one.Key, stored(one))
		if one.Kind == "delete" {
			after = now.without(one.Key)
		}
		// The server gives up an unconditional write that other writes have overtaken again and again.
		gaveUp := one.Expected == 0
		return write(now, one, matches, after, map[string]bool{missing: !present, conflict: gaveUp || present && !matches})
	}
	return nil
}

// write returns the states after a write that is possible in this state or not; `errors` are the correct errors.
func write(now state, one request, possible bool, after state, errors map[string]bool) []state {
	possible = possible && (one.Revision == 0 || one.Revision > now.revision)
	switch {
	case one.Outcome == done, one.Outcome == lost && one.Revision != 0:
		return when(possible, after)
	case one.Outcome == lost:
		return append(when(possible, after), now)
	}
	return when(errors[one.Outcome], now)
}

// stored returns the object that a request stores.
func stored(one request) object {
	if one.Outcome == lost && one.Revision == 0 {
		return object{unread, one.Value}
	}
	return object{one.Revision, one.Value}
}

func when(holds bool, next state) []state {
	if !holds {
		return nil
	}
	return []state{next}
}
