-- What is embedded of a memory? When and by whom it was said where that is known, after the two turns before it in
-- its session: never later ones, so that a new turn changes no vector (row R8; measured in docs/decisions).
create or replace function loci.embed_text(p_memory loci_data.memories) returns text
language sql stable parallel safe
as $$
    select concat(
        case when p_memory.valid_from <> p_memory.recorded_at
             then to_char(p_memory.valid_from at time zone 'UTC', '"["FMDD FMMonth YYYY"] "') end,
        (select string_agg(left(concat_ws(': ', b.source, b.content), 2000), E'\n' order by b.valid_from, b.doc_id) || E'\n'
         from (select m.* from loci_data.memories m
               where m.namespace_id = p_memory.namespace_id and m.session_id = p_memory.session_id and m.status = 'active'
                 and (m.valid_from, m.doc_id) < (p_memory.valid_from, p_memory.doc_id)
               order by m.valid_from desc, m.doc_id desc limit 2) b),
        concat_ws(': ', p_memory.source, p_memory.content))
$$;
comment on function loci.embed_text(loci_data.memories) is 'Text whose embedding stands for a memory.';
