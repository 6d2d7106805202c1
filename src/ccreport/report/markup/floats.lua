-- Figures and tables with captions, and references to them (`@tbl-x`), for either renderer: a filter of pandoc's and a part
-- of filter.lua. Those of an evaluation are given the numbers that they have in the whole report; others have none, as
-- each page would count from 1, and "Table 1" be many.

local NAMES = {fig = 'Figure', tbl = 'Table', sec = 'Section'}
-- Of what was named so far by its label; sections are those of filter.lua.
local numbers, seen = {}, {}
local KINDS = {fig = true, tbl = true}

local function kind_of(label)
  return label:match('^(%a+)%-')
end

local function html(text)
  return pandoc.RawBlock('html', text)
end

-- Regions of a page need names of their own.
local function first_sentence(caption)
  local text = pandoc.utils.stringify(caption):match('^[^.:]*')
  return (text:gsub('[&<"]', {['&'] = '&amp;', ['<'] = '&lt;', ['"'] = '&quot;'}))
end

local function take_number(element)
  local given = element.attributes.number
  element.attributes.number = nil
  return given
end

local function float(label, content, caption, given)
  local kind = kind_of(label)
  if seen[label] then
    error('twice: ' .. label, 0)
  end
  seen[label], numbers[label] = true, given
  local full = pandoc.Inlines {}
  if given then
    full:extend {pandoc.Span(NAMES[kind] .. '\u{a0}' .. given .. ':', {class = 'float-number'}), pandoc.Space()}
  end
  full:extend(caption)
  local figcaption = {html('<figcaption>'), pandoc.Plain(full), html('</figcaption>')}
  if kind == 'fig' then
    local name = NAMES[kind] .. (given and ' ' .. given or ': ' .. first_sentence(caption))
    content:insert(1, html('<div class="figure-scroll" role="region" aria-label="' .. name .. '" tabindex="0">'))
    content:insert(html('</div>'))
  end
  local blocks = pandoc.Blocks {html('<figure class="float ' .. kind .. '" id="' .. label .. '">')}
  blocks:extend(kind == 'tbl' and figcaption or content)
  blocks:extend(kind == 'tbl' and content or figcaption)
  blocks:insert(html('</figure>'))
  return blocks
end

local function float_div(div)
  if KINDS[kind_of(div.identifier)] then
    local last = div.content[#div.content]
    if #div.content < 2 or last.t ~= 'Para' then
      error('no caption: ' .. div.identifier, 0)
    end
    div.content:remove()
    return float(div.identifier, div.content, last.content, take_number(div))
  end
end

local function float_figure(figure)
  if KINDS[kind_of(figure.identifier)] then
    local given
    figure = figure:walk {
      Image = function(one)
        given = take_number(one)
        -- A picture that is shown alone has its title.
        return pandoc.Link({one}, (one.src:gsub('untitled%.svg$', 'figure.svg')))
      end,
    }
    return float(figure.identifier, figure.content, pandoc.utils.blocks_to_inlines(figure.caption.long), given)
  end
end

-- References to what has no number stay as they are.
local function reference(cite)
  local links = pandoc.Inlines {}
  for i, citation in ipairs(cite.citations) do
    local label = citation.id
    local name, number = NAMES[kind_of(label)], numbers[label]
    if not (name and number) then
      return nil
    end
    if i > 1 then
      links:extend {pandoc.Str(','), pandoc.Space()}
    end
    links:insert(pandoc.Link(name .. '\u{a0}' .. number, '#' .. label, '', {class = 'quarto-xref'}))
  end
  return links
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

-- Quarto takes a list and nothing beside it.
return setmetatable({{Div = float_div, Figure = float_figure}, {Cite = reference, Image = image}}, {__index = {numbers = numbers}})
