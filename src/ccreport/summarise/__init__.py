"""Published tables: the database of all typed tables, and the queries of an evaluation over it."""
