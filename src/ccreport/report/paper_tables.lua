-- Tables of a page as calls of `data-table` (paper.typ), each as narrow as it can be: broken headings, sentences below
-- their rows, sideways where a page is still not wide enough. Lists of terms are here as well.

-- Characters of a table that fit beside each other upright, at the least size of text that `data-table` takes. A cell
-- longer than the second breaks; in a table that is too wide one longer than the third moves below its row.
local UPRIGHT_CHARACTERS, CELL_CHARACTERS, LONG_CHARACTERS = 200, 30, 50
-- Beyond the first the words of headings stand below each other, in lines of at least the second.
local UNBROKEN_CHARACTERS, HEADING_CHARACTERS = 120, 8

local function typst(blocks)
  return (pandoc.write(pandoc.Pandoc(blocks), 'typst', {wrap_text = 'none'}):gsub('%s+$', ''))
end

local function raw(text)
  return pandoc.RawBlock('typst', text)
end

local ALIGNMENTS = {{'number', 'right'}, {'gt_right', 'right'}, {'gt_center', 'center'}, {'gt_left', 'left'}}
local NOTE = pandoc.List {'note'}
-- A table of more rows than the first is measured by so many of the longest cells of each column as the second.
local ROWS_MEASURED, CELLS_MEASURED = 20, 8
-- Shows between two cells; no text of a page holds a control character.
local BORDER = '\31'

local function alignment(cell)
  for _, pair in ipairs(ALIGNMENTS) do
    if cell.classes:includes(pair[1]) then
      return pair[2]
    end
  end
end

-- All cells are written at once: a call of pandoc's writer takes longer than what it writes of one.
local function typst_cells(cells)
  local blocks, written = pandoc.Blocks {}, pandoc.List {}
  for _, one in ipairs(cells) do
    blocks:extend(one.cell.contents)
    blocks:insert(raw(BORDER))
  end
  local i = 0
  for content in typst(blocks):gmatch('(.-)' .. BORDER) do
    i = i + 1
    local cell, options = cells[i].cell, cells[i].options
    if cell.col_span > 1 then
      table.insert(options, 'colspan: ' .. cell.col_span)
    end
    if cell.row_span > 1 then
      table.insert(options, 'rowspan: ' .. cell.row_span)
    end
    local call = #options > 0 and 'table.cell(' .. table.concat(options, ', ') .. ')' or ''
    written:insert(call .. '[' .. content:match('^%s*(.-)%s*$') .. ']')
  end
  return written
end

local function head_cells(rows)
  local cells = {}
  for _, row in ipairs(rows) do
    for _, cell in ipairs(row.cells) do
      local is_spanner = cell.col_span > 1 and pandoc.utils.stringify(cell.contents):match('[^%s\u{a0}]')
      local options = {'align: bottom + ' .. (is_spanner and 'center' or alignment(cell) or 'left')}
      if is_spanner then
        table.insert(options, 'stroke: spanner-stroke')
      end
      table.insert(cells, {cell = cell, options = options})
    end
  end
  return typst_cells(cells)
end

local function array(items)
  return '(' .. table.concat(items, ', ') .. ',)'
end

-- Each row as an array of its cells.
local function body_rows(rows, columns_count)
  local cells, arrays, used = {}, pandoc.List {}, 0
  for _, row in ipairs(rows) do
    for _, cell in ipairs(row.cells) do
      local side = alignment(cell)
      local options = side and {'align: ' .. side} or {}
      if cell.classes:includes('note') then
        options = {'align: left', 'inset: (left: 1.5em)'}
      elseif cell.col_span == columns_count then
        options = {'align: left', 'fill: group-fill'}
      end
      table.insert(cells, {cell = cell, options = options})
    end
  end
  local written = typst_cells(cells)
  for _, row in ipairs(rows) do
    arrays:insert(array {table.unpack(written, used + 1, used + #row.cells)})
    used = used + #row.cells
  end
  return arrays
end

-- How many characters the lines of a cell have at most, and its longest word.
local function measure(cell)
  if cell.longest then
    return cell.longest, cell.word
  end
  local longest, word, used = 0, 0, 0
  for _, block in ipairs(cell.contents) do
    used = 0
    for _, inline in ipairs(block.content or {}) do
      local tag = inline.t
      local text = tag == 'Str' and inline.text or tag and pandoc.utils.stringify(inline) or ''
      used = tag == 'LineBreak' and 0 or used + (utf8.len(text) or #text)
      longest = math.max(longest, used)
      for part in text:gmatch('%S+') do
        word = math.max(word, utf8.len(part) or #part)
      end
    end
  end
  cell.longest, cell.word = longest, word
  return longest, word
end

-- Rows as tables of Lua: each time that one asks pandoc for a part of a cell it hands over a copy.
local function take_rows(rows)
  return rows:map(function(row)
    return {
      cells = row.cells:map(function(cell)
        return {contents = cell.contents, classes = cell.classes, col_span = cell.col_span, row_span = cell.row_span}
      end),
    }
  end)
end

-- Of each column the widest cell, the heading and the longest word of the heading.
local function measure_columns(head, body, columns_count)
  local widths, headings, words = {}, {}, {}
  for column = 1, columns_count do
    widths[column], headings[column], words[column] = 0, 0, 0
  end
  for _, row in ipairs(body) do
    for column, cell in ipairs(#row.cells == columns_count and row.cells or {}) do
      widths[column] = math.max(widths[column], (measure(cell)))
    end
  end
  local last = head[#head]
  for offset = 1, last and #last.cells or 0 do
    -- Cells of the rows above reach down into the first columns.
    local column = columns_count - #last.cells + offset
    headings[column], words[column] = measure(last.cells[offset])
  end
  return widths, headings, words
end

-- Of rows and the lengths of one cell of each the first rows by length, as numbers from 0.
local function longest_first(lengths)
  table.sort(lengths, function(a, b) return a.length > b.length or a.length == b.length and a.row < b.row end)
  return pandoc.List(lengths):map(function(one) return one.row - 1 end)
end

-- What `data-table` measures a table of many rows by; nothing of few rows, and where cells reach over rows.
local function longest_cells(body, columns_count)
  if #body <= ROWS_MEASURED then
    return {}
  end
  local columns, spanning, rows = {}, {}, pandoc.List {}
  for column = 1, columns_count do
    columns[column] = {}
  end
  for number, row in ipairs(body) do
    local is_whole = #row.cells == columns_count
    for column, cell in ipairs(row.cells) do
      if cell.row_span > 1 then
        return {}
      end
      table.insert(is_whole and columns[column] or spanning, {row = number, length = (measure(cell))})
    end
  end
  if #columns[1] < CELLS_MEASURED then
    return {}
  end
  for column = 1, columns_count do
    columns[column] = longest_first(columns[column])
  end
  for i = 1, CELLS_MEASURED do
    rows:insert(array(pandoc.List(columns):map(function(numbers) return numbers[i] end)))
  end
  spanning = {table.unpack(longest_first(spanning), 1, CELLS_MEASURED)}
  return {'longest: ' .. array(rows), #spanning > 0 and 'spanning: ' .. array(spanning) or nil}
end

-- A heading of several words is broken where it would be wider than what stands below it.
local function break_heading(cell, width)
  local used = 0
  cell.contents = cell.contents:walk {
    Inlines = function(inlines)
      for i, inline in ipairs(inlines) do
        local next_length = inlines[i + 1] and utf8.len(pandoc.utils.stringify(inlines[i + 1])) or 0
        if inline.t == 'Space' and used + 1 + next_length > width then
          inlines[i], used = pandoc.LineBreak(), 0
        else
          used = used + utf8.len(pandoc.utils.stringify(inline))
        end
      end
      return inlines
    end,
  }
end

-- In a table that is too wide for a page a column of sentences goes: each stands below its row, as wide as the table.
local function move_sentences(head, body, columns_count, widths)
  local kept, names = {}, {}
  for column = 1, columns_count do
    kept[column] = widths[column] <= LONG_CHARACTERS
  end
  local last, is_regular = head[#head], true
  for _, row in ipairs(body) do
    local is_whole = #row.cells == columns_count or row.cells[1].col_span == columns_count
    is_regular = is_regular and is_whole and not row.cells:find_if(function(cell) return cell.row_span > 1 end)
  end
  if not last or #last.cells ~= columns_count or not is_regular then
    return columns_count, body
  end
  local moved, count = pandoc.List {}, 0
  for column = 1, columns_count do
    names[column] = pandoc.utils.stringify(last.cells[column].contents)
    count = count + (kept[column] and 1 or 0)
  end
  for _, row in ipairs(body) do
    local cells, notes = pandoc.List {}, pandoc.List {}
    for column, cell in ipairs(row.cells) do
      if #row.cells ~= columns_count then
        -- The name of a group is as wide as the table still is.
        cell.col_span = count
        cells:insert(cell)
      elseif kept[column] then
        cells:insert(cell)
      elseif measure(cell) > 1 then
        notes:extend {pandoc.Emph(names[column] .. ':'), pandoc.Space()}
        notes:extend(pandoc.utils.blocks_to_inlines(cell.contents))
        notes:insert(pandoc.Space())
      end
    end
    moved:insert {cells = cells}
    if #notes > 0 then
      local shown = pandoc.Blocks {pandoc.Plain(notes)}
      moved:insert {cells = pandoc.List {{contents = shown, classes = NOTE, col_span = count, row_span = 1}}}
    end
  end
  last.cells = last.cells:filter(function(_, column) return kept[column] end)
  return count, moved
end

local function is_wider(limit, widths, headings)
  local total = 0
  for column, width in ipairs(widths) do
    total = total + math.min(math.max(width, headings[column]), CELL_CHARACTERS) + 2
  end
  return total > limit
end

local function break_headings(head, widths, words)
  for _, row in ipairs(head) do
    for offset, cell in ipairs(row.cells) do
      local column = row == head[#head] and #widths - #row.cells + offset or offset
      if cell.col_span == 1 then
        break_heading(cell, math.max(widths[column], words[column], HEADING_CHARACTERS))
      end
    end
  end
end

-- Source notes stand below the table: in it they would make it as wide as they are.
local function notes_of(foot)
  local notes = foot.rows:filter(function(row) return #row.cells == 1 end)
  return table.concat(notes:map(function(row) return typst(row.cells[1].contents) end), '\n\n')
end

local function data_table(element)
  local columns_count, head, body = #element.colspecs, take_rows(element.head.rows), pandoc.List {}
  for _, part in ipairs(element.bodies) do
    body:extend(take_rows(part.head))
    body:extend(take_rows(part.body))
  end
  local widths, headings, words = measure_columns(head, body, columns_count)
  if is_wider(UPRIGHT_CHARACTERS, widths, words) then
    columns_count, body = move_sentences(head, body, columns_count, widths)
    widths, headings, words = measure_columns(head, body, columns_count)
  end
  if is_wider(UNBROKEN_CHARACTERS, widths, headings) then
    break_headings(head, widths, words)
  end
  local parts = pandoc.List {'notes: [' .. notes_of(element.foot) .. ']'}
  if #head > 0 then
    parts:insert('head: (table.header(' .. table.concat(head_cells(head), ', ') .. '), head-rule)')
  end
  local totals = body_rows(element.foot.rows:filter(function(row) return #row.cells > 1 end), columns_count)
  if #totals > 0 then
    parts:insert('totals: (head-rule, ..' .. table.concat(totals, ', ..') .. ')')
  end
  parts:extend(longest_cells(body, columns_count))
  parts:extend(body_rows(body, columns_count))
  local block = raw('#data-table(' .. columns_count .. ',\n' .. table.concat(parts, ',\n') .. ',\n)')
  return is_wider(UPRIGHT_CHARACTERS, widths, words) and pandoc.Div({block}, {class = 'wide'}) or block
end

local function definitions(element)
  local items = {}
  for _, item in ipairs(element.content) do
    local meaning = pandoc.Blocks {}
    for _, blocks in ipairs(item[2]) do
      meaning:extend(blocks)
    end
    table.insert(items, '([' .. typst {pandoc.Plain(item[1])} .. '], [' .. typst(meaning) .. '])')
  end
  return raw('#terms(separator: h(0.8em, weak: true), ' .. table.concat(items, ', ') .. ')')
end

local function upright_table(element)
  local block = data_table(element)
  return block.t == 'Div' and block.content or block
end

return {
  data_table = data_table,
  definitions = definitions,
  raw = raw,
  typst = typst,
  upright_table = upright_table,
}
