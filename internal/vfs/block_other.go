//go:build !linux

package vfs

func hugePage() (page, mapped []byte) { return nil, nil }

func freePage([]byte) {}
