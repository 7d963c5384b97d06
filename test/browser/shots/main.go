// Command shots takes pictures of pages, on wide and narrow screens, light and
// dark.
//
//	go run ./shots -out DIR NAME=URL ...
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"rota/test/browser/chrome"
)

func main() {
	out := flag.String("out", ".", "folder for the pictures")
	only := flag.String("only", "", "take those only whose name holds this")
	flag.Parse()
	if err := run(*out, *only, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(out, only string, pages []string) error {
	path, ok := chrome.Find()
	if !ok {
		return fmt.Errorf("no Chromium is installed")
	}
	browser, stop := chrome.Start(context.Background(), path)
	defer stop()
	for _, page := range pages {
		name, url, _ := strings.Cut(page, "=")
		for _, screen := range []struct {
			name   string
			width  int64
			height int64
			dark   bool
		}{{"wide", 1440, 900, false}, {"wide-dark", 1440, 900, true}, {"narrow", 390, 844, false}, {"narrow-dark", 390, 844, true}} {
			file := filepath.Join(out, name+"-"+screen.name+".png")
			if only != "" && !strings.Contains(file, only) {
				continue
			}
			err := chromedp.Do(browser,
				chrome.Screen(screen.width, screen.height, screen.dark),
				chromedp.Navigate(url),
				chromedp.WaitVisible("#link.live"),
				chromedp.Sleep(200*time.Millisecond), // one more update
			)
			if err != nil {
				return fmt.Errorf("%s: %w", page, err)
			}
			png, err := chromedp.Run(browser, chromedp.FullScreenshot(100))
			if err != nil {
				return fmt.Errorf("%s: %w", page, err)
			}
			if err := os.WriteFile(file, png, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
