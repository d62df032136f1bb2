-- Which links of an operation were changed since: one that it made has another strength, or one that it ended is there again? A link that it made
-- and that is gone by now is no matter. Sources. Index memory_links_present. Called by changed_since; internal.
create or replace function loci.changed_links(p_namespace_id integer, p_operation uuid) returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.source_id
    from (select l.source_id, l.target_id, l.type, max(l.strength) filter (where l.gained) as made, max(l.strength) filter (where not l.gained) as ended
          from loci.net_links(p_namespace_id, p_operation) l group by l.source_id, l.target_id, l.type) n
    left join lateral (select w.strength from loci_data.memory_links w
                       where w.namespace_id = p_namespace_id and w.source_id = n.source_id and w.target_id = n.target_id and w.type = n.type
                         and w.superseded_at is null limit 1) w on true
    where w.strength is distinct from n.made and w.strength is distinct from n.ended and not (w.strength is null and n.ended is null)
$$;
comment on function loci.changed_links(integer, uuid) is 'Sources of links that were changed since an operation changed them. Internal.';
