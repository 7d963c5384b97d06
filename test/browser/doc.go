// Package browser looks at the web page with a real browser: Chromium, driven
// over its DevTools protocol.
package browser
