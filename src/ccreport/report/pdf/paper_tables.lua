-- Tables of Markdown as calls of `data-table` (paper.typ), and lists of terms. A table that is a block of HTML by
-- itself is set by paper_tables.py.

local SIDES = {AlignLeft = 'left', AlignRight = 'right', AlignCenter = 'center', AlignDefault = 'left'}

local function typst(blocks)
  return (pandoc.write(pandoc.Pandoc(blocks), 'typst', {wrap_text = 'none'}):gsub('%s+$', ''))
end

local function raw(text)
  return pandoc.RawBlock('typst', text)
end

local function cells(row, sides, place)
  return table.concat(row.cells:map(function(cell, column)
    local options = {'align: ' .. place .. sides[column], 'colspan: ' .. cell.col_span, 'rowspan: ' .. cell.row_span}
    return 'table.cell(' .. table.concat(options, ', ') .. ')[' .. typst(cell.contents) .. ']'
  end), ', ')
end

local function data_table(element)
  local sides = element.colspecs:map(function(spec) return SIDES[spec[1]] end)
  local parts = pandoc.List {tostring(#sides)}
  for _, row in ipairs(element.head.rows) do
    parts:insert('head: (table.header(' .. cells(row, sides, 'bottom + ') .. '), head-rule)')
  end
  local rows = pandoc.List {}
  for _, body in ipairs(element.bodies) do
    rows:extend(body.head .. body.body)
  end
  rows:extend(element.foot.rows)
  parts:extend(rows:map(function(row) return '(' .. cells(row, sides, '') .. ',)' end))
  if element.classes:includes('matrix') then
    parts:insert('compact: true')
  end
  return raw('#data-table(' .. table.concat(parts, ',\n') .. ',\n)')
end

local function definitions(element)
  local items = {}
  for _, item in ipairs(element.content) do
    local meaning = pandoc.Blocks {}
    for _, blocks in ipairs(item[2]) do
      meaning:extend(blocks)
    end
    table.insert(items, 'terms.item([' .. typst {pandoc.Plain(item[1])} .. '], [' .. typst(meaning) .. '])')
  end
  return raw('#terms(separator: h(0.8em, weak: true), ' .. table.concat(items, ', ') .. ')')
end

return {data_table = data_table, definitions = definitions, raw = raw, typst = typst}
