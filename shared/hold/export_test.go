package hold

// Table and Groups are all that the tests go through.
var (
	Table  = table
	Groups = []Group{ByPolicy, ByNode, ByMode}
)
