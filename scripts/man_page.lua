-- A filter of pandoc that gives docs/man/*.md the form of man pages:
--   pandoc -f markdown-smart -t man -s -L scripts/man_page.lua docs/man/h5mount.1.md -o h5mount.1
-- The heading of the first level, `name(section) – what it is`, is the title and the section NAME; the other headings move up
-- by one level. A list whose items have a line break in their first paragraph is a list of terms and definitions: Markdown as
-- GitHub shows it has none.

local function split_at_line_break(inlines)
  for at, inline in ipairs(inlines) do
    if inline.t == "LineBreak" then
      local term, rest = pandoc.List(), pandoc.List()
      for i, other in ipairs(inlines) do
        if i < at then term:insert(other) elseif i > at then rest:insert(other) end
      end
      return term, rest
    end
  end
  return nil
end

local function as_definitions(list)
  local items = pandoc.List()
  for _, item in ipairs(list.content) do
    local first = item[1]
    local term, rest = split_at_line_break(first.content or pandoc.List())
    if not term then return nil end
    local definition = pandoc.List({pandoc.Plain(rest)})
    for i = 2, #item do definition:insert(item[i]) end
    items:insert({term, {definition}})
  end
  return pandoc.DefinitionList(items)
end

-- Links to other pages are their text: `[fsck.h5(8)](fsck.h5.8.md)`.
local function link_text(link)
  return link.content
end

-- A table takes 70 columns, which with its margin is more than man(1) has on a terminal of 80.
local function within_terminal(wide)
  for at, column in ipairs(wide.colspecs) do
    if column[2] then wide.colspecs[at] = {column[1], column[2] * 0.95} end
  end
  return wide
end

function Pandoc(document)
  local blocks = pandoc.List()
  for _, block in ipairs(document.blocks) do
    if block.t == "Header" and block.level == 1 then
      local name, section, what = pandoc.utils.stringify(block.content):match("^(.-)%((%d)%) – (.*)$")
      assert(name, "the first heading is not `name(section) – what it is`")
      document.meta.title = pandoc.MetaString(name)
      document.meta.section = pandoc.MetaString(section)
      blocks:insert(pandoc.Header(1, "NAME"))
      blocks:insert(pandoc.Para({pandoc.Str(name), pandoc.Space(), pandoc.Str("-"), pandoc.Space(), pandoc.Str(what)}))
    elseif block.t == "Header" then
      blocks:insert(pandoc.Header(block.level - 1, block.content))
    else
      blocks:insert(block)
    end
  end
  return pandoc.Pandoc(blocks, document.meta):walk({BulletList = as_definitions, Link = link_text, Table = within_terminal})
end
