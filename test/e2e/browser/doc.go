// Package browser opens the pages of kubectl fence ui in a real browser, on a real control plane,
// and does there what people do.
package browser
