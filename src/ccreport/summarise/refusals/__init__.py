"""What SQL of an evaluation that the database refuses should say instead: columns, and numbers with units."""
