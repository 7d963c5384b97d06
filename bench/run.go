package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
)

var cores = float64(runtime.NumCPU())

// run measures the chosen workloads, prints them and writes the page.
func run(ctx context.Context, o *options) error {
	list, err := chosen(o.run)
	if err != nil {
		return err
	}
	began := time.Now()
	r := &report{Machine: describe()}
	if o.page != "" {
		if r, err = readReport(o.page); err != nil {
			return err
		}
	}
	r.print(os.Stdout)
	var failed error
	for _, w := range list {
		for _, m := range o.modesOf(w) {
			if err := r.take(ctx, o, w, m); err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s, %s: %v\n", w.name, m, err)
				failed = fmt.Errorf("not every workload ran")
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if o.page != "" {
				if err := r.write(o.page); err != nil {
					return err
				}
			}
		}
	}
	r.printTargets(os.Stdout)
	fmt.Printf("\n%d workloads in %v\n", len(list), time.Since(began).Round(time.Second))
	return failed
}

// take measures one workload: the two brokers in turn, as often as is asked
// for, then the peers once.
func (r *report) take(ctx context.Context, o *options, w *workload, m durability) error {
	turns := []kind{rotaBroker, kafkaBroker}
	var order []kind
	for i := range o.pairs {
		if i == 0 || !w.once {
			order = append(order, turns...)
		}
	}
	if m == w.modes[0] && !o.quick || len(o.brokers) > 0 {
		order = append(order, w.peers...)
	}
	var all []*measured
	failed := map[kind]error{}
	for _, k := range order {
		if !o.serves(k) || failed[k] != nil || ctx.Err() != nil {
			continue
		}
		one, err := measure(ctx, o, w, k, m)
		if err != nil {
			failed[k] = fmt.Errorf("%s: %w", k, err)
			continue
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		r.replace(w.name, m, all)
		r.printWorkload(os.Stdout, w, m)
	}
	return errors.Join(slices.Collect(maps.Values(failed))...)
}
