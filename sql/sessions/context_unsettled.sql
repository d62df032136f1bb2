-- Which open pairs concern a context? pairs: up to p_limit, as list_unsettled shows them: first those of which it
-- shows a memory (p_documents), then those that the one who asks has told in the first person (asking_party); the
-- newest first, of the newest 200. contradicts: for each shown memory that is part of one its document number, and the
-- current memories at the other ends. Both null where the namespace has no open pair, which costs one probe. Errors:
-- 42501, P0002.
create or replace function loci_api.context_unsettled(p_namespace text, p_documents bigint[], p_user text default null,
                                                      p_limit integer default 3)
returns table (pairs jsonb, contradicts jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_party text := loci_internal.asking_party(p_user);
begin
    if exists (select from loci_data.memory_links l where l.namespace_id = v_ns and l.type = 'contradicts'
               and l.superseded_at is null) then
        select jsonb_object_agg(c.doc_id, to_jsonb(c.contradicts)) into contradicts
        from (select o.doc_id, array_agg(distinct o.other_id order by o.other_id) as contradicts
              from loci_internal.open_pairs_of(v_ns, p_documents) o group by o.doc_id) c;
        select jsonb_agg(jsonb_build_object('newer', loci_internal.side_of_pair(u.newer),
                                            'older', loci_internal.side_of_pair(u.older),
                                            'similarity', u.strength) order by u.nth) into pairs
        from (select w as newer, o as older, l.strength,
                     row_number() over (order by s.shown desc, l.recorded_at desc, l.source_id, l.target_id) as nth
              from (select k.* from loci_data.memory_links k
                    where k.namespace_id = v_ns and k.type = 'contradicts' and k.superseded_at is null
                    order by k.recorded_at desc limit 200) l
              cross join lateral loci_internal.current_of_lineage(v_ns, l.source_id) w
              cross join lateral loci_internal.current_of_lineage(v_ns, l.target_id) o
              cross join lateral (select w.doc_id = any (p_documents) or o.doc_id = any (p_documents) as shown) s
              where s.shown or loci.is_first_person(w.content)
                    and loci_internal.memory_party(w.source, w.created_by) = v_party) u
        where u.nth <= p_limit;
    end if;
    return next;
end $$;
comment on function loci_api.context_unsettled(text, bigint[], text, integer) is
    'Open pairs that concern a context, and which of its memories are part of one. Errors: 42501, P0002.';
