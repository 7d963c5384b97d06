package storagetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"rota/internal/storage/storagetest"
)

func TestMemory(t *testing.T) {
	storagetest.Run(t, func(*testing.T) *storagetest.Subject {
		return storagetest.MemorySubject(storagetest.NewMemory())
	})
}

func TestBesideInMemory(t *testing.T) {
	storagetest.Beside(t, storagetest.MemorySubject(storagetest.NewMemory()), 10)
}

func TestCloud(t *testing.T) {
	storagetest.Run(t, func(*testing.T) *storagetest.Subject {
		return storagetest.CloudSubject(storagetest.NewCloud(1, 250*time.Millisecond, 0))
	})
}

// TestCloudWithFailures drives a store on a medium of which one call in twenty
// fails, half of those after they have done their work.
func TestCloudWithFailures(t *testing.T) {
	for seed := range uint64(12) {
		t.Run("RandomWork", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sub := storagetest.CloudSubject(storagetest.NewCloud(seed, 250*time.Millisecond, 5))
				storagetest.RandomWork(t, sub, seed, 400)
			})
		})
	}
}
