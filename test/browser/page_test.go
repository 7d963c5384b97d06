package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"rota"

	"rota/test/browser/chrome"
)

// TestMain gets a Chromium where one can be had.
func TestMain(m *testing.M) {
	install()
	os.Exit(m.Run())
}

// install asks apt for Chromium, as root on Debian and its kin.
func install() {
	if _, found := chrome.Find(); found || os.Getuid() != 0 {
		return
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core")
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "Chromium cannot be installed: %v\n%s\n", err, lastLines(string(out)))
	}
}

func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}

// visit is a broker, and a browser that looks at its page.
type visit struct {
	t       *testing.T
	b       *rota.Broker
	browser context.Context
}

func open(t *testing.T, properties map[string]string) *visit {
	t.Helper()
	path, found := chrome.Find()
	if !found {
		t.Skip("The page is not looked at: there is no Chromium here and none can be installed (apt-get install chromium).")
	}
	b, err := rota.Start(t.Context(), rota.Config{Web: "127.0.0.1:0", Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	// The browser goes first, so that the broker waits for no stream.
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	browser, stop := chrome.Start(context.WithoutCancel(t.Context()), path)
	t.Cleanup(stop)
	v := &visit{t: t, b: b, browser: browser}
	v.do(chrome.Screen(1440, 900, false)) // starts the browser
	v.watchConsole()
	return v
}

// patience bounds each step. The machine may be busy with other things.
const patience = 30 * time.Second

func (v *visit) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	for _, step := range steps {
		ended := make(chan error, 1)
		go func() { ended <- chromedp.Do(v.browser, step) }()
		select {
		case err := <-ended:
			if err != nil {
				v.t.Fatal(err)
			}
		case <-time.After(patience):
			v.t.Fatal("the browser does not answer")
		}
	}
}

// goTo opens a path and waits until it is kept up to date.
func (v *visit) goTo(path string) {
	v.t.Helper()
	v.do(chromedp.Navigate("http://" + v.b.WebAddr() + path))
	v.until(live)
}

// live is true when the script of a page runs and its stream is open.
const live = `document.querySelector('#link.live') !== null`

// eval computes an expression in the page.
func eval[T any](v *visit, expression string) T {
	v.t.Helper()
	value, err := chromedp.Run(v.browser, chromedp.Evaluate[T](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits until an expression is true in the page.
func (v *visit) until(expression string) {
	v.t.Helper()
	deadline := time.Now().Add(patience)
	// While a page is being left, and before its parts are there, nothing is true.
	guarded := `(() => { try { return !!(` + expression + `) } catch { return false } })()`
	for {
		if ok, err := chromedp.Run(v.browser, chromedp.Evaluate[bool](guarded)); err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("never true: %s\nthe page says:\n%s", expression, eval[string](v, `document.body.innerText`))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// watchConsole makes an error of the page's script, and of its policy, one of
// the test.
func (v *visit) watchConsole() {
	go func() {
		for m, err := range chromedp.Console(v.browser) {
			if err != nil {
				return
			}
			if text := fmt.Sprint(m); strings.Contains(text, "Content Security Policy") || strings.Contains(text, "Uncaught") {
				v.t.Errorf("the page complains: %s", text)
			}
		}
	}()
}

// consumer joins a group with the range assignor, whose rebalances are single.
func (v *visit) consumer(group, client string, opts ...kgo.Opt) *kgo.Client {
	v.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(v.b.Addr()), kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"), kgo.ClientID(client), kgo.AllowAutoTopicCreation(),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(),
	}, opts...)...)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(cl.Close)
	ctx := v.t.Context()
	go func() {
		for ctx.Err() == nil && !cl.PollFetches(ctx).IsClientClosed() {
		}
	}()
	return cl
}

// A rebalance happens while the page is looked at: from the list to the group,
// through the states, to the story, and back to an older one.
func TestLiveRebalance(t *testing.T) {
	v := open(t, map[string]string{"num.partitions": "6", "group.initial.rebalance.delay.ms": "0"})
	v.goTo("/")
	v.until(`document.body.innerText.includes('There is no group yet')`)

	v.consumer("billing", "first")
	v.until(`document.querySelector('#groups .badge.Stable') !== null`) // without a reload
	v.do(chromedp.Click(`#groups a.name`))
	v.until(`document.querySelector('h1.id')?.innerText === 'billing'`)
	v.until(`document.querySelector('#members').innerText.includes('first')`)
	v.until(`document.querySelector('#members .chip b').innerText === '0-5'`)
	v.until(`document.querySelector('#link.live') !== null`)
	eval[bool](v, `window.mark = true`) // lost by a reload

	// The first member answers late: until then the page shows who is waited for.
	var first sync.Once
	hold, held := make(chan struct{}), make(chan struct{})
	slow := v.consumer("billing", "slow", kgo.OnPartitionsRevoked(func(context.Context, *kgo.Client, map[string][]int32) {
		first.Do(func() { close(held) })
		<-hold
	}))
	v.until(`document.querySelectorAll('#members tbody tr').length === 2 && document.querySelector('#machine').dataset.state === 'Stable'`)
	v.consumer("billing", "third")
	<-held
	v.until(`document.querySelector('#machine').dataset.state === 'PreparingRebalance'`)
	v.until(`document.querySelector('#machine .wide .statename.lit').textContent === 'PreparingRebalance'`)
	v.until(`document.querySelector('#rebalance').dataset.ending === 'running'`)
	v.until(`document.querySelector('#gantt .wide .phase.join.running') !== null`)
	length := eval[string](v, `document.querySelector('#gantt .wide .phase.join title').textContent`)
	v.until(fmt.Sprintf(`document.querySelector('#gantt .wide .phase.join title').textContent !== %q`, length))
	close(hold)
	v.until(`document.querySelector('#machine').dataset.state === 'Stable'`)
	v.until(`document.querySelector('#rebalance').dataset.ending === 'installed'`)

	story := `document.querySelector('.story').innerText`
	v.until(story + `.includes('member "third"')`)
	v.until(story + `.includes('Waited for: member "slow"')`)
	v.until(`[...document.querySelectorAll('#gantt .wide .bar.awaited title')].some(t => t.textContent.startsWith('slow'))`)
	v.until(`document.querySelector('#moves summary').innerText.includes('changed hands')`)
	if !eval[bool](v, `window.mark === true`) {
		t.Error("the page was loaded again")
	}

	// An older one, by its bar, and back by its key.
	newest := eval[string](v, `document.querySelector('#rebalance').dataset.key`)
	v.do(chromedp.Click(`#history .wide a .spike.e-installed`))
	v.until(fmt.Sprintf(`document.querySelector('#rebalance').dataset.key !== %q`, newest))
	v.until(story + `.includes('the group had no members')`)
	v.until(`document.querySelector('#link.live') !== null`)
	for range 2 {
		key := eval[string](v, `document.querySelector('#rebalance').dataset.key`)
		v.do(chromedp.KeyEvent("]"))
		v.until(fmt.Sprintf(`document.querySelector('#rebalance').dataset.key !== %q && document.querySelector('#link.live') !== null`, key))
	}
	if key := eval[string](v, `document.querySelector('#rebalance').dataset.key`); key != newest {
		t.Errorf("the newest rebalance is %s, the key leads to %s", newest, key)
	}

	slow.Close()
	v.goTo("/group?id=billing")
	v.until(story + `.includes('left')`)
	v.until(`document.querySelector('#members tbody').rows.length === 2`)
}

// The keyboard is enough.
func TestKeys(t *testing.T) {
	v := open(t, nil)
	for _, g := range []string{"alpha", "beta", "gamma"} {
		v.consumer(g, g)
	}
	v.goTo("/")
	v.until(`document.querySelectorAll('#groups tbody tr').length === 3`)
	v.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	v.until(`document.querySelector('tr.at a').innerText === 'beta' && document.activeElement === document.querySelector('tr.at a')`)
	v.do(chromedp.KeyEvent("\r"))
	v.until(`document.querySelector('h1.id')?.innerText === 'beta' && ` + live)
	v.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("g"))
	v.until(`document.querySelector('#q') !== null && ` + live)
	v.do(chromedp.KeyEvent("/"))
	v.until(`document.activeElement.id === 'q'`)
	eval[string](v, `document.querySelector('#q').value = ''`) // DevTools types what the page has prevented
	v.do(chromedp.KeyEvent("gam"))
	v.until(`document.querySelector('#q').value === 'gam'`)
	v.do(chromedp.KeyEvent("\r"))
	v.until(`document.querySelectorAll('#groups tbody tr').length === 1 && location.search.includes('q=gam') && ` + live)
	v.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("t"))
	v.until(`document.querySelector('#topics') !== null && ` + live)
	v.do(chromedp.KeyEvent("?"))
	v.until(`document.querySelector('#help').open`)
	v.do(chromedp.KeyEvent("\x1b"))
	v.until(`!document.querySelector('#help').open`)
	before := eval[string](v, `getComputedStyle(document.body).backgroundColor`)
	v.do(chromedp.KeyEvent("t"))
	v.until(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor !== %q`, before))
}

// What strangers call themselves does nothing in a real browser.
func TestStrangersDoNothing(t *testing.T) {
	v := open(t, nil)
	evil := `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`
	v.consumer(evil, evil, kgo.InstanceID("<svg onload=window.hit=1>"))
	v.goTo("/")
	v.until(`document.querySelector('#groups a.name')?.innerText === ` + fmt.Sprintf("%q", evil))
	v.do(chromedp.Click(`#groups a.name`))
	v.until(`document.querySelector('h1.id')?.innerText === ` + fmt.Sprintf("%q", evil))
	v.until(`document.querySelector('#members').innerText.includes('<svg onload')`)
	v.until(`document.querySelector('#gantt .wide') !== null && document.querySelector('#link.live') !== null`)
	if eval[bool](v, `'hit' in window`) {
		t.Error("a script of a stranger has run")
	}
}

// No page is wider than the screen, on a phone and on a desk, light and dark,
// with names as long as they may be; and all of it is there without a script.
func TestScreens(t *testing.T) {
	v := open(t, map[string]string{"num.partitions": "12"})
	long := strings.Repeat("a-rather-long-name.", 12)
	v.consumer(long, long)
	v.fallBehind(v.consumer("orders-service", "orders-service"))
	v.goTo("/group?id=" + url.QueryEscape(long))
	v.until(`document.querySelector('#gantt .wide') !== null`)
	v.goTo("/")
	v.until(`document.querySelector('#groups .age')?.innerText.match(/^4d4h/) !== null`)
	pages := []string{"/", "/group?id=" + url.QueryEscape(long), "/topics", "/topic?name=orders", "/broker"}
	for _, width := range []int64{390, 768, 1440} {
		for _, dark := range []bool{false, true} {
			v.do(chrome.Screen(width, 900, dark))
			for _, path := range pages {
				v.goTo(path)
				if wide := eval[int](v, `document.documentElement.scrollWidth`); wide > int(width) {
					t.Errorf("%s is %d wide on a screen of %d", path, wide, width)
				}
				v.picture(fmt.Sprintf("%s-%d-%v", strings.Trim(strings.NewReplacer("/", "", "?", "-", "=", "-").Replace(path[:min(len(path), 8)]), "-"), width, dark))
			}
			shown := eval[string](v, `getComputedStyle(document.body).backgroundColor`)
			if bright := strings.Contains(shown, "250"); bright == dark {
				t.Errorf("dark is %v and the page is %s", dark, shown)
			}
		}
	}
}

// fallBehind has a member of a group leave an old record unread, as far as its
// commits say.
func (v *visit) fallBehind(cl *kgo.Client) {
	v.t.Helper()
	ctx := v.t.Context()
	old := &kgo.Record{Topic: "orders", Value: []byte("old"), Timestamp: time.Now().Add(-100 * time.Hour)}
	if err := cl.ProduceSync(ctx, old).FirstErr(); err != nil {
		v.t.Fatal(err)
	}
	end := time.Now().Add(20 * time.Second)
	for committed := false; !committed; {
		done := make(chan error, 1)
		cl.CommitOffsets(ctx, map[string]map[int32]kgo.EpochOffset{"orders": {old.Partition: {Epoch: -1, Offset: 0}}},
			func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
				if err == nil {
					err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
				}
				done <- err
			})
		if err := <-done; err == nil {
			committed = true
		} else if time.Now().After(end) {
			v.t.Fatal(err)
		}
	}
}

// picture keeps what the browser shows, if BROWSER_SHOTS names a folder.
func (v *visit) picture(name string) {
	v.t.Helper()
	dir := os.Getenv("BROWSER_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(v.browser, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}
