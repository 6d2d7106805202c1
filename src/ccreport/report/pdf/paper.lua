-- A page of the report as a part of the PDF, for pandoc's Typst writer: what Quarto adds to pandoc's Markdown, and
-- links between pages as links inside one document. Tables of HTML are inclusions already (paper_tables.py).
--
-- Text reaches Typst through pandoc's writer or `quote` below and in no other way. Labels get their page's name in
-- front, as two pages may use the same one.

local folder = pandoc.path.directory(PANDOC_SCRIPT_FILE)
package.path = folder .. '/?.lua;' .. folder .. '/../markup/?.lua;' .. package.path
local tables, percentages = require 'paper_tables', require 'percentages'
local raw, typst = tables.raw, tables.typst

local CALLOUTS = {note = 'Note', tip = 'Tip', warning = 'Warning', important = 'Important', caution = 'Caution'}
local KINDS = {fig = 'image', tbl = 'table'}
-- Of the first page's findings: how many sentences of the first items of their first list, the answers, and of their last.
-- A table among the answers has the room of one.
local SHORT_ANSWERS = {1, 1, 1, 1}
local BESIDE_TABLE = {1, 1, 1}
local SHORT_VERDICTS = {2, 1}
local page, pages = '', {}

local function quote(text)
  return '"' .. text:gsub('[\\"]', '\\%0'):gsub('%c', ' ') .. '"'
end

local function label_of(identifier, of_page)
  return (of_page or page) .. '--' .. identifier:gsub('[^%w-]', '-')
end

local function label(identifier)
  return identifier == '' and '' or ' #label(' .. quote(label_of(identifier)) .. ')'
end

-- The fonts that Typst brings along have no letters beyond; as an escape they can still be read.
local function show_letters(text)
  if not text:find('[\xE2-\xFF]') then
    return text
  end
  local shown = {}
  for _, code in utf8.codes(text) do
    local is_known = code < 0x2E80 or (code >= 0xFB00 and code <= 0xFB06)
    table.insert(shown, is_known and utf8.char(code) or string.format(code > 0xFFFF and '\\U%08x' or '\\u%04x', code))
  end
  return table.concat(shown)
end

-- A name without spaces may break after punctuation, a hash after every 16 digits.
local function allow_breaks(text)
  if #text <= 20 or text:find(' ') then
    return text
  end
  text = text:gsub('([_/.:=,])', '%1\u{200b}')
  return (text:gsub(('%x'):rep(16), '%0\u{200b}'))
end

-- What pandoc's writer leaves as it is: marks that begin a list or a heading where a line begins, and three dots.
local function escape_marks(element)
  local text = element.text
  if text:match('^[=+/-]+$') or text:match('^%d+%.$') then
    return pandoc.RawInline('typst', (text:gsub('%p', '\\%0')))
  elseif text:find('...', 1, true) then
    return pandoc.RawInline('typst', (typst {pandoc.Plain {element}}:gsub('%.%.%.', '\\.\\.\\.')))
  end
  return element
end

local function str(element)
  element.text = allow_breaks(show_letters(element.text))
  return escape_marks(element)
end

local function code(element)
  -- A hash on a line of its own is copied from the page, and fits it.
  if element.classes:includes('digest') then
    return nil
  end
  return pandoc.Code(allow_breaks(show_letters(element.text)))
end

local function code_block(element)
  return pandoc.CodeBlock(show_letters(element.text))
end

local function is_shown(element)
  local format = element.attributes['when-format']
  if element.classes:includes('content-visible') then
    return format == 'typst'
  end
  return not (element.classes:includes('content-hidden') and format == 'typst')
end

local function span(element)
  if element.classes:includes('small') then
    return {pandoc.RawInline('typst', '#small['), element, pandoc.RawInline('typst', ']')}
  end
  element.identifier = ''
  return element
end

local function is_site_file(target)
  return target:match('^tables/') or target:match('^figures/') or target:match('^[%w_-]+%.pdf$')
end

local function find_target(element)
  if element.target:match('^https?://') or element.target:match('^mailto:') then
    return element.target
  end
  local name, identifier = element.target:match('^([%w_-]*)%.?%a*%??[^#]*#?(.*)$')
  name = name == '' and page or name
  if not is_site_file(element.target) and pages[name] then
    return identifier == '' and name or label_of(identifier, name)
  end
end

-- Words in brackets that are nothing but a link, "(which and why)", say nothing where it leads out of the document.
local function drop_dead_brackets(inlines)
  for number = #inlines - 1, 2, -1 do
    local before, one, after = inlines[number - 1], inlines[number], inlines[number + 1]
    if after and one.t == 'Link' and not find_target(one) and before.t == 'Str' and after.t == 'Str'
      and before.text:match('%($') and after.text:match('^%)') then
      before.text, after.text = before.text:sub(1, -2), after.text:sub(2)
      inlines:remove(number)
      local space = inlines[number - 2]
      if before.text == '' and space and (space.t == 'Space' or space.t == 'SoftBreak') then
        inlines:remove(number - 1)
        inlines:remove(number - 2)
      end
    end
  end
  return inlines
end

local function link(element)
  if element.target:match('^https?://') or element.target:match('^mailto:') then
    return pandoc.Link(element.content, element.target)
  end
  local target = find_target(element)
  if not target then
    return element.content
  end
  local inlines = pandoc.Inlines {pandoc.RawInline('typst', '#to(' .. quote(target) .. ')[')}
  inlines:extend(element.content)
  inlines:insert(pandoc.RawInline('typst', ']'))
  return inlines
end

-- What offers the files of the website has no use on paper.
local function paragraph(element)
  local is_offer = false
  element:walk {Link = function(one) is_offer = is_offer or is_site_file(one.target) end}
  return is_offer and {} or nil
end

local function reference(cite)
  local parts = {}
  for _, citation in ipairs(cite.citations) do
    table.insert(parts, '#ref(label(' .. quote(label_of(citation.id)) .. '))')
  end
  return pandoc.RawInline('typst', table.concat(parts, ', '))
end

local function html(element)
  if element.format ~= 'html' then
    return element.format ~= 'typst' and {} or nil
  end
  -- pandoc knows no `small`; what a click opens on the site stands open on paper, without the words to click on.
  local text = element.text:gsub('<small[^>]*>', '<span class="small">'):gsub('</small>', '</span>')
  text = text:gsub('<summary>.-</summary>', '')
  return pandoc.read(text, 'html').blocks:walk {
    Div = function(div) return div.content end,
    Header = function(header) return pandoc.Para {pandoc.Strong(header.content)} end,
    Para = paragraph,
  }
end

local function is_float(identifier)
  return KINDS[identifier:match('^(%a+)%-') or ''] ~= nil
end

local function first_tab(div)
  local blocks, level = pandoc.Blocks {}, nil
  for _, block in ipairs(div.content) do
    if block.t == 'Header' and (level == nil or block.level == level) then
      if level then
        break
      end
      level = block.level
    else
      blocks:insert(block)
    end
  end
  return blocks
end

local function callout(div, kind)
  local title = pandoc.Inlines(CALLOUTS[kind])
  if div.attributes.title then
    title = pandoc.utils.blocks_to_inlines(pandoc.read(div.attributes.title, 'markdown').blocks)
  elseif div.content[1] and div.content[1].t == 'Header' then
    title = div.content:remove(1).content
  end
  local blocks = pandoc.Blocks {raw('#callout(' .. quote(kind) .. ', [' .. typst {pandoc.Plain(title)} .. '])[')}
  -- No page can be turned within a callout.
  blocks:extend(div.content:walk {Div = function(one) return one.classes:includes('wide') and one.content or nil end})
  blocks:insert(raw(']'))
  return blocks
end

local function visible(element)
  return not is_shown(element) and {} or nil
end

local function panel(div)
  if div.classes:includes('panel-tabset') then
    return first_tab(div)
  end
  for kind in pairs(CALLOUTS) do
    if div.classes:includes('callout-' .. kind) then
      return callout(div, kind)
    end
  end
  if div.classes:includes('caveat') then
    -- The drawing's section, which follows, has no room above it.
    return pandoc.Blocks {raw('#block(below: 0.9em)[')} .. div.content .. {raw(']')}
  end
  if div.classes:includes('fact') then
    return pandoc.Blocks {raw('#block(breakable: false)[')} .. div.content .. {raw(']')}
  end
  if div.classes:includes('contents') then
    return raw('#contents(depth: ' .. (div.attributes.depth or '1') .. ')')
  end
  if not is_float(div.identifier) and not div.classes:includes('wide') then
    local anchor = div.identifier ~= '' and {raw('#metadata(none)' .. label(div.identifier))} or {}
    return pandoc.Blocks(anchor) .. div.content
  end
end

-- A verdict in front of a heading, `[Holds]{.verdict-holds}: …`, becomes a tag in its colour.
local function header(element)
  element.identifier = label_of(element.identifier)
  local first = element.content[1]
  local verdict = first and first.t == 'Span' and (first.classes[1] or ''):match('^verdict%-(%a+)$')
  if not verdict then
    return element
  end
  local words = element.content:filter(function(one) return one ~= first end)
  if words[1] and words[1].t == 'Str' and words[1].text == ':' then
    words:remove(1)
  end
  return raw(table.concat({
    '#judged(' .. quote(verdict) .. ', [' .. typst {pandoc.Plain(first.content)} .. '], [' .. typst {pandoc.Plain(words)} .. '])',
    ' #label(' .. quote(element.identifier) .. ')',
  }))
end

local function float(identifier, content, caption, given)
  local kind = identifier:match('^(%a+)%-')
  local is_wide = false
  content = pandoc.Blocks(content):walk {
    Div = function(div)
      is_wide = is_wide or div.classes:includes('wide')
      return div.content
    end,
  }
  local number = given and 'number: ' .. quote(given) .. ', ' or ''
  local figure = table.concat({
    '#exhibit(' .. KINDS[kind] .. ', ' .. quote(label_of(identifier)) .. ', ' .. number .. 'caption: [',
    typst {pandoc.Plain(caption)},
    '])[',
    typst(content),
    ']',
  }, '\n')
  return raw(is_wide and '#sideways[\n' .. figure .. '\n]' or figure), false
end

-- The heading of a table that is turned goes with it to its page, and so does a paragraph between the two.
local function take_headings(blocks)
  local taken = pandoc.Blocks {}
  for _, block in ipairs(blocks) do
    if block.t == 'RawBlock' and block.text:match('^#sideways%[') then
      local before = pandoc.Blocks {}
      if #taken > 1 and taken[#taken].t == 'Para' and taken[#taken - 1].t == 'Header' then
        before:insert(taken:remove())
      end
      while #taken > 0 and taken[#taken].t == 'Header' do
        before:insert(1, taken:remove())
      end
      block = raw((block.text:gsub('^#sideways%[', function() return '#sideways[\n' .. typst(before) end)))
    end
    taken:insert(block)
  end
  return taken
end

local function float_div(div)
  if is_float(div.identifier) then
    local last = div.content[#div.content]
    if #div.content < 2 or last.t ~= 'Para' then
      error('no caption: ' .. div.identifier, 0)
    end
    div.content:remove()
    return float(div.identifier, div.content, last.content, div.attributes.number)
  elseif div.classes:includes('wide') then
    return raw('#sideways[\n' .. div.content[1].text .. '\n]'), false
  end
end

local function float_figure(figure)
  if is_float(figure.identifier) then
    local caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
    return float(figure.identifier, figure.content, caption, figure.attributes.number)
  end
end

-- Lines of a short answer are one sentence here.
local function first_sentences(inlines, count)
  local taken = pandoc.Inlines {}
  for place, one in ipairs(inlines) do
    local following = inlines[place + 1]
    if following and following.t == 'LineBreak' then
      one = pandoc.Str(pandoc.utils.stringify(one):gsub('%.$', ';'))
    elseif one.t == 'LineBreak' then
      one = pandoc.Space()
    end
    taken:insert(one)
    if one.t == 'Str' and one.text:match('[.?!]$') then
      count = count - 1
      if count == 0 then
        break
      end
    end
  end
  return taken
end

-- Of the first paragraph of the first callout, what the archive is and how names are used: its first sentence and its
-- last. The rest stays where it is.
local function take_caveat(blocks)
  for number, block in ipairs(blocks) do
    if block.t == 'Div' and block.classes:includes('callout-note') then
      local _, place = block.content:find_if(function(one) return one.t == 'Para' end)
      local rest = place and block.content:remove(place).content or pandoc.Inlines {}
      local sentences = pandoc.List {}
      while #rest > 0 do
        local sentence = first_sentences(rest, 1)
        sentences:insert(sentence)
        rest = pandoc.Inlines {table.unpack(rest, #sentence + 1)}
      end
      local caveat, between = pandoc.Inlines {}, pandoc.Inlines {}
      for n, sentence in ipairs(sentences) do
        local part = (n == 1 or n == #sentences) and caveat or between
        part:extend(sentence)
      end
      if #between > 0 then
        block.content:insert(place, pandoc.Para(between))
      elseif #block.content < 2 then
        -- Its title is left.
        blocks:remove(number)
      end
      return #caveat > 0 and pandoc.Div(pandoc.Para(caveat), {class = 'caveat'}) or nil
    elseif block.t == 'Div' then
      local caveat = take_caveat(block.content)
      if caveat then
        return caveat
      end
    end
  end
end

local function is_table(block)
  return block.t == 'RawBlock' and block.text:find('<table', 1, true) ~= nil
end

-- Of findings that begin with so many sentences of their first paragraphs elsewhere, and have their tables there, their
-- names and what follows these; nothing of those that have nothing else.
local function drop_said(list, counts)
  local kept = pandoc.List {}
  for number, item in ipairs(list.content) do
    local words = item[1].content
    if counts[number] then
      item = item:filter(function(one) return not is_table(one) end)
    end
    local said = counts[number] and #first_sentences(words, counts[number]) or 0
    local left = pandoc.Inlines {table.unpack(words, said + 1)}
    if said == 0 then
      kept:insert(item)
    elseif #left > 0 then
      item[1].content = pandoc.Inlines {words[1]} .. left
      kept:insert(item)
    else
      item:remove(1)
      local following, place = item:find_if(function(one) return one.t == 'Para' end)
      if following then
        item[place] = pandoc.Para(pandoc.Inlines {words[1], pandoc.Space()} .. following.content)
        kept:insert(item)
      end
    end
  end
  return #kept > 0 and pandoc.BulletList(kept) or {}
end

-- The first page: what the archive is and the first findings in short above the picture, what else there is of them after
-- it, and what was in front.
local function arrange_front(blocks)
  local _, place = blocks:find_if(function(one) return one.t == 'Div' and one.classes:includes('front') end)
  local front = place and blocks[place]
  local lists, short, has_picture = pandoc.List {}, pandoc.List {}, false
  local contents = {Div = function(one) return one.classes:includes('contents') and {} or nil end}
  if front then
    front:walk {
      BulletList = function(list) lists:insert(list) end,
      Figure = function() has_picture = true end,
    }
  end
  local function shorten(list, counts)
    for number, count in ipairs(counts) do
      local item = list and list.content[number]
      if item then
        short:insert(pandoc.Blocks {pandoc.Plain(first_sentences(item[1].content, count))} .. item:filter(is_table))
      end
    end
  end
  local has_table = lists[1] and lists[1].content:find_if(function(item) return item:find_if(is_table) ~= nil end)
  local answers = has_table and BESIDE_TABLE or SHORT_ANSWERS
  shorten(lists[1], answers)
  shorten(#lists > 1 and lists[#lists], SHORT_VERDICTS)
  if #short == 0 or not has_picture then
    return blocks
  end
  local before = pandoc.Blocks {}
  for number = 1, place - 1 do
    before:insert(blocks[number])
  end
  local arranged = pandoc.Blocks {take_caveat(before) or nil}
  arranged:insert(pandoc.BulletList(short))
  arranged:extend(front.content:filter(function(one) return one.classes:includes('front-picture') end))
  arranged:extend(before)
  arranged:insert(pandoc.Para {pandoc.Strong 'More on the findings'})
  local place_of_list = 0
  local others = front.content:filter(function(one) return not one.classes:includes('front-picture') end)
  arranged:extend(others:walk {
    -- They are beside the picture.
    Div = contents.Div,
    BulletList = function(list)
      place_of_list = place_of_list + 1
      local is_last = place_of_list == #lists and #lists > 1
      return drop_said(list, place_of_list == 1 and answers or is_last and SHORT_VERDICTS or {})
    end,
  })
  for number = place + 1, #blocks do
    arranged:insert(blocks[number])
  end
  return arranged
end

local function size_of_image(block)
  return block.t == 'RawBlock' and block.text:match('^#exhibit%(image,.*#drawing%(".-", (%(%d+, %d+%)), drawing%-scale')
end

-- Sections of nothing but words and a drawing, which share pages as `exhibits` (paper.typ) sees fit.
local function join_exhibits(blocks)
  local taken, lead, sections = pandoc.Blocks {}, pandoc.Blocks {}, pandoc.List {}
  local function close()
    if #sections > 0 then
      taken:insert(raw('#exhibits(\n' .. table.concat(sections, ',\n') .. ',\n)'))
    end
    taken:extend(lead)
    lead, sections = pandoc.Blocks {}, pandoc.List {}
  end
  for number, block in ipairs(blocks) do
    local size, follows = size_of_image(block), number < #blocks and size_of_image(blocks[number + 1])
    if size and #lead > 0 then
      local shown, side = block.text, '0pt'
      if lead[1].t == 'BulletList' then
        shown, side = shown:gsub('#drawing%b()', '#with-contents[%0]'), 'side-width'
      end
      local parts = {'lead: [' .. typst(lead) .. ']', 'size: ' .. size, 'side: ' .. side, 'figure: drawing-scale => [' .. shown .. ']'}
      sections:insert('(' .. table.concat(parts, ', ') .. ')')
      lead = pandoc.Blocks {}
    elseif #lead == 0 and (block.t == 'Header' or block.t == 'BulletList' and follows) or #lead > 0 and block.t == 'Para' then
      lead:insert(block)
    else
      close()
      local place = block.t == 'Header' and lead or taken
      place:insert(block)
    end
  end
  close()
  return taken
end

-- What leads to a table is on its page.
local function hold_leads(blocks)
  for number = #blocks, 2, -1 do
    local block, lead = blocks[number], blocks[number - 1]
    if lead.t == 'Para' and block.t == 'RawBlock' and block.text:match('^#include "/tables/') then
      blocks[number - 1] = raw('#block(sticky: true)[' .. typst {lead} .. ']')
    end
  end
  return blocks
end

-- A formula is read aloud as its TeX.
local function formula(element)
  local shown = typst {pandoc.Plain {element}}
  return pandoc.RawInline('typst', '#[#set math.equation(alt: ' .. quote(element.text) .. ');' .. shown .. ']')
end

local function image(element)
  local alt = element.attributes['fig-alt']
  if not alt then
    error('no fig-alt: ' .. element.src, 0)
  end
  local width, height = tonumber(element.attributes.width), tonumber(element.attributes.height)
  local size = width and height and string.format('(%d, %d)', width, height) or 'none'
  local arguments = {quote('/' .. element.src), size, 'drawing-scale', 'alt: ' .. quote(show_letters(alt))}
  return pandoc.RawInline('typst', '#drawing(' .. table.concat(arguments, ', ') .. ')')
end

-- An image becomes Typst before the figure around it.
local function take_number(figure)
  figure:walk {Image = function(one) figure.attributes.number = one.attributes.number end}
  return figure
end

function Pandoc(doc)
  page = pandoc.utils.stringify(doc.meta.page)
  for name in pandoc.utils.stringify(doc.meta.pages):gmatch('%S+') do
    pages[name] = true
  end
  local blocks = arrange_front(doc.blocks:walk {Span = visible, Div = visible})
  -- Before there are tables of HTML, of which each cell would be looked through.
  blocks = blocks:walk {Para = paragraph, Plain = paragraph}
  blocks = blocks:walk {RawBlock = html}
  blocks = blocks:walk {Inlines = drop_dead_brackets}
  blocks = blocks:walk {RawInline = function() return {} end, Span = span}
  -- While numbers and signs are words: some of these become Typst.
  blocks = blocks:walk(percentages[1])
  blocks = blocks:walk {Str = str, Code = code, CodeBlock = code_block, Header = header}
  blocks = blocks:walk {Figure = take_number}
  blocks = blocks:walk {Link = link, Cite = reference, Image = image, Math = formula}
  blocks = blocks:walk {Div = panel}
  blocks = blocks:walk {Table = tables.data_table, DefinitionList = tables.definitions}
  blocks = blocks:walk {traverse = 'topdown', Div = float_div, Figure = float_figure}
  blocks = hold_leads(join_exhibits(take_headings(blocks)))
  if doc.meta.title then
    local title = doc.meta.title:walk {Str = str}
    blocks:insert(1, pandoc.Header(1, title, {id = page}))
  end
  return pandoc.Pandoc(blocks, doc.meta)
end
