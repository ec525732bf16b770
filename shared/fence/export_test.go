package fence

// What the tests of this package hold to its promises and nobody else needs.

const DumpApart = dumpApart
