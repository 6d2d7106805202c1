-- A percentage stays on one line: the space before its sign does not break. Code and tables of HTML are as they are.

local function keep_sign(inlines)
  local kept = pandoc.Inlines {}
  for number, inline in ipairs(inlines) do
    local before, after = inlines[number - 1], inlines[number + 1]
    local is_between = inline.t == 'Space' and before and after and before.t == 'Str' and after.t == 'Str'
    local is_before_sign = is_between and before.text:match('%d$') and after.text:match('^%%')
    kept:insert(is_before_sign and pandoc.Str '\u{a0}' or inline)
  end
  return kept
end

return {{Inlines = keep_sign}}
