-- What Quarto adds to pandoc's Markdown, as far as our pages use it: callouts, tabsets, links between pages, and numbers
-- of sections, which count from level 2. Numbered captions and cross-references (`@tbl-x`) are in floats.lua.

package.path = pandoc.path.directory(PANDOC_SCRIPT_FILE) .. '/../markup/?.lua;' .. package.path
local floats, percentages = require 'floats', require 'percentages'

local CALLOUTS = {note = 'Note', tip = 'Tip', warning = 'Warning', important = 'Important', caution = 'Caution'}
local numbers, sections, dangling = floats.numbers, {}, {}
local tabsets, is_numbered = 0, false

local function html(text)
  return pandoc.RawBlock('html', text)
end

local function inline_html(text)
  return pandoc.RawInline('html', text)
end

local function tabset(div)
  local tabs, list, panels = pandoc.List(), pandoc.Inlines {}, pandoc.Blocks {}
  tabsets = tabsets + 1
  for _, block in ipairs(div.content) do
    if block.t == 'Header' and (#tabs == 0 or block.level == tabs[1].level) then
      tabs:insert {title = block.content, level = block.level, blocks = pandoc.Blocks {}}
    elseif #tabs > 0 then
      tabs[#tabs].blocks:insert(block)
    end
  end
  for i, tab in ipairs(tabs) do
    local id = 'tabset-' .. tabsets .. '-' .. i
    list:insert(inline_html('<button type="button" role="tab" id="' .. id .. '-tab" aria-controls="' .. id .. '">'))
    list:extend(tab.title)
    list:insert(inline_html('</button>'))
    panels:insert(html('<div role="tabpanel" id="' .. id .. '" aria-labelledby="' .. id .. '-tab">'))
    panels:insert(pandoc.Div(pandoc.Plain(tab.title), {class = 'tab-title'}))
    panels:extend(tab.blocks)
    panels:insert(html('</div>'))
  end
  local open = html('<div class="tabset"><div role="tablist" hidden>')
  local blocks = pandoc.Blocks {open, pandoc.Plain(list), html('</div>')}
  blocks:extend(panels)
  blocks:insert(html('</div>'))
  return blocks
end

local function callout(div, kind)
  local title = pandoc.Inlines(CALLOUTS[kind])
  if div.attributes.title then
    title = pandoc.utils.blocks_to_inlines(pandoc.read(div.attributes.title, 'markdown').blocks)
  elseif div.content[1] and div.content[1].t == 'Header' then
    title = div.content:remove(1).content
  end
  local open = '<div class="callout callout-' .. kind .. '" role="note"><p class="callout-title">'
  local blocks = pandoc.Blocks {html(open), pandoc.Plain(title), html('</p>')}
  blocks:extend(div.content)
  blocks:insert(html('</div>'))
  return blocks
end

-- Of what is for one format alone Quarto leaves the content, without the block or span around it, and nothing elsewhere.
local function unwrap(element)
  if element.classes:includes('content-visible') then
    local format = element.attributes['when-format']
    return (format == nil or format == 'html') and element.content or {}
  end
end

local function panel(div)
  if div.classes:includes('panel-tabset') then
    return tabset(div)
  end
  for kind in pairs(CALLOUTS) do
    if div.classes:includes('callout-' .. kind) then
      return callout(div, kind)
    end
  end
end

-- A box that scrolls must be reachable by the keyboard.
local function code_block(block)
  block.attributes.tabindex = '0'
  return block
end

local function number_header(header)
  if header.level < 2 or header.classes:includes('unnumbered') then
    return nil
  end
  sections[header.level] = (sections[header.level] or 0) + 1
  for level = header.level + 1, 6 do
    sections[level] = nil
  end
  local number = {}
  for level = 2, header.level do
    table.insert(number, tostring(sections[level] or 0))
  end
  numbers[header.identifier] = table.concat(number, '.')
  if is_numbered then
    header.content:insert(1, pandoc.Span(numbers[header.identifier], {class = 'header-section-number'}))
    header.content:insert(2, pandoc.Space())
  end
  return header
end

local function dangle(cite)
  for _, citation in ipairs(cite.citations) do
    if not numbers[citation.id] then
      table.insert(dangling, 'dangling: ' .. citation.id)
    end
  end
end

local function link(element)
  element.target = element.target:gsub('^([%w_-]+)%.qmd', '%1.html')
  return element
end

function Pandoc(doc)
  is_numbered = doc.meta['number-sections'] == true
  doc = doc:walk {Div = unwrap, Span = unwrap}
  doc = doc:walk {Div = panel}
  doc = doc:walk(floats[1]):walk {Header = number_header}
  doc = doc:walk(floats[2]):walk {Cite = dangle, Link = link, CodeBlock = code_block}
  if #dangling > 0 then
    error(table.concat(dangling, '\n'), 0)
  end
  return doc:walk(percentages[1])
end
