-- What Quarto adds to pandoc's Markdown, as far as our pages use it: cross-references (`@tbl-x`), numbered captions,
-- callouts, tabsets, links between pages. Numbers count per page and kind, sections from level 2, as Quarto's do.

local NAMES = {fig = 'Figure', tbl = 'Table', sec = 'Section'}
local CALLOUTS = {note = 'Note', tip = 'Tip', warning = 'Warning', important = 'Important', caution = 'Caution'}
local numbers, counts, sections, dangling = {}, {fig = 0, tbl = 0}, {}, {}
local tabsets, is_numbered = 0, false

local function kind_of(label)
  return label:match('^(%a+)%-')
end

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

-- Blocks and spans for another format, which Quarto leaves out.
local function is_of_another_format(element)
  local format = element.attributes['when-format']
  return element.classes:includes('content-visible') and format ~= nil and format ~= 'html'
end

local function leave_out(element)
  if is_of_another_format(element) then
    return {}
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

-- The number that a float is given, such as the paper's; Quarto counts its own.
local function take_number(element)
  local given = element.attributes.number
  element.attributes.number = nil
  return given
end

local function float(label, content, caption, given)
  local kind = kind_of(label)
  if numbers[label] then
    error('twice: ' .. label, 0)
  end
  counts[kind] = counts[kind] + 1
  numbers[label] = given or tostring(counts[kind])
  local prefix = pandoc.Span(NAMES[kind] .. '\u{a0}' .. numbers[label] .. ':', {class = 'float-number'})
  local full = pandoc.Inlines {prefix, pandoc.Space()}
  full:extend(caption)
  local figcaption = {html('<figcaption>'), pandoc.Plain(full), html('</figcaption>')}
  if kind == 'fig' then
    local name = NAMES[kind] .. ' ' .. numbers[label]
    content:insert(1, html('<div class="figure-scroll" role="region" aria-label="' .. name .. '" tabindex="0">'))
    content:insert(html('</div>'))
  end
  local blocks = pandoc.Blocks {html('<figure class="float ' .. kind .. '" id="' .. label .. '">')}
  blocks:extend(kind == 'tbl' and figcaption or content)
  blocks:extend(kind == 'tbl' and content or figcaption)
  blocks:insert(html('</figure>'))
  return blocks, false
end

local function float_div(div)
  if counts[kind_of(div.identifier)] then
    local last = div.content[#div.content]
    if #div.content < 2 or last.t ~= 'Para' then
      error('no caption: ' .. div.identifier, 0)
    end
    div.content:remove()
    return float(div.identifier, div.content, last.content, take_number(div))
  end
end

local function float_figure(figure)
  if counts[kind_of(figure.identifier)] then
    local given
    figure = figure:walk {
      Image = function(one)
        given = take_number(one)
        return pandoc.Link({one}, one.src)
      end,
    }
    return float(figure.identifier, figure.content, pandoc.utils.blocks_to_inlines(figure.caption.long), given)
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

local function reference(cite)
  local links = pandoc.Inlines {}
  for i, citation in ipairs(cite.citations) do
    local label = citation.id
    local name, number = NAMES[kind_of(label)], numbers[label]
    if name and number then
      if i > 1 then
        links:extend {pandoc.Str(','), pandoc.Space()}
      end
      links:insert(pandoc.Link(name .. '\u{a0}' .. number, '#' .. label, '', {class = 'quarto-xref'}))
    else
      table.insert(dangling, 'dangling: ' .. label)
    end
  end
  return links
end

local function link(element)
  element.target = element.target:gsub('^([%w_-]+)%.qmd', '%1.html')
  return element
end

local function image(element)
  if not element.attributes['fig-alt'] then
    error('no fig-alt: ' .. element.src, 0)
  end
  element.caption = {}
  element.attributes.alt = element.attributes['fig-alt']
  element.attributes['fig-alt'] = nil
  -- Only with its size given does a figure that comes late leave the rest of the page where it is.
  if element.attributes.width and element.attributes.height then
    element.attributes.loading = 'lazy'
  end
  return element
end

function Pandoc(doc)
  is_numbered = doc.meta['number-sections'] == true
  doc = doc:walk {Div = leave_out, Span = leave_out}
  doc = doc:walk {Div = panel}
  doc = doc:walk {traverse = 'topdown', Div = float_div, Figure = float_figure, Header = number_header}
  doc = doc:walk {Cite = reference, Link = link, Image = image, CodeBlock = code_block}
  if #dangling > 0 then
    error(table.concat(dangling, '\n'), 0)
  end
  return doc
end
