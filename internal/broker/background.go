package broker

// Close waits for what the broker does in the background to end. What is left
// undone, such as a deletion, goes on after the next start. Close comes before
// that of the coordinator, the catalog and the store.
func (b *Broker) Close() {
	b.stopOnce.Do(func() { close(b.stopped) })
	b.background.Wait()
}
