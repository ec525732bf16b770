// Package page says what each page of kubectl fence ui shows, and renders it. It is pure: what was
// read comes in as a Look, and HTML comes out.
//
// What a reader must not get wrong: names, messages and labels come from the cluster, and anybody
// may have written them. They reach HTML only by html/template, which escapes them.
package page
