"""What every stage uses: errors, units, identifiers, tables, the evaluation's declaration, files that appear whole."""
