-- With the name or alias of which entity does a text begin? The longest of up to five words. A name before a comma is
-- called, and is nobody of whom something is said ("Ann, this is great"). A single word that was only read out of texts
-- and is a stop word of English ("The") is none. One probe of the primary key of entity_names for what the first word
-- begins with, which finds nothing for most texts; one for each of five phrases for the others. A row of memories as an
-- argument would be taken apart on each call.
create or replace function loci.leading_entity_of(p_namespace_id integer, p_text text) returns text
language plpgsql stable parallel safe
as $$
declare
    v_head  constant text := left(p_text, 255);
    v_first constant text := split_part(rtrim(
        case when octet_length(v_head) = length(v_head)  -- else it is folded whole
             then lower(substring(v_head, '^[\u0001-\u0020"([*#>\u007F-]*([^\u0001-\u0020\u007F]*)'))
             else split_part(ltrim(loci.fold_characters(v_head), ' "([*#>-'), ' ', 1) end, '.:;!?")]*'), '''', 1);
begin
    if not exists (select from loci_data.entity_names n
                   where n.namespace_id = p_namespace_id and n.canonical_name >= v_first
                     and n.canonical_name < v_first || U&'\+10FFFF') then
        return null;
    end if;
    return (
        select e.name
        from loci_data.entity_names n
        join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id
        where n.namespace_id = p_namespace_id
          and n.canonical_name = any (array(select loci.opening_phrases(p_text)))
          and (e.type <> 'extracted' or numnode(plainto_tsquery('pg_catalog.english', n.canonical_name)) > 0)
        order by length(n.canonical_name) desc, n.is_alias, n.entity_id limit 1);
end $$;
comment on function loci.leading_entity_of(integer, text) is
    'Name of the entity of a namespace that a text begins with; null: none.';
