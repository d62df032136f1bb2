-- Unsettled pairs: memories that may contradict each other.

-- Which pairs of memories are open: the newer may outdate the older one, and nobody has said which holds? Newest first.
-- Both sides as {id, content, valid_from, category, about, source}. Range of memory_links_open; links of which an end
-- has no current memory any more are passed.
create or replace function loci_api.list_unsettled(p_namespace text, p_limit integer default 50,
                                                   p_cursor text default null)
returns table (newer jsonb, older jsonb, similarity double precision, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_key text[] := loci_internal.read_cursor(p_cursor, 'timestamptz', 'uuid', 'uuid');
begin
    perform loci_internal.check_page(p_limit);
    return query
    select loci_internal.side_of_pair(w), loci_internal.side_of_pair(o), l.strength,
           loci_internal.make_cursor(jsonb_build_array(l.recorded_at, l.source_id, l.target_id))
    from loci_data.memory_links l
    cross join lateral loci_internal.current_of_lineage(v_ns, l.source_id) w
    cross join lateral loci_internal.current_of_lineage(v_ns, l.target_id) o
    where l.namespace_id = v_ns and l.type = 'contradicts' and l.superseded_at is null
      and (v_key is null or (l.recorded_at, l.source_id, l.target_id)
                            < (v_key[1]::timestamptz, v_key[2]::uuid, v_key[3]::uuid))
    order by l.recorded_at desc, l.source_id desc, l.target_id desc limit p_limit;
end $$;
comment on function loci_api.list_unsettled(text, integer, text) is
    'Pairs of memories that are open, newest first; cursor pages. Errors: 42501, P0002, 22023.';

-- One side of an open pair, as it is shown. At most one probe of entity_names.
create or replace function loci_internal.side_of_pair(p_memory loci_data.memories) returns jsonb
language sql stable parallel safe
as $$
    select jsonb_build_object('id', p_memory.id, 'content', p_memory.content, 'valid_from', p_memory.valid_from,
                              'category', p_memory.category, 'about', loci.memory_about(p_memory),
                              'source', p_memory.source)
$$;
comment on function loci_internal.side_of_pair(loci_data.memories) is
    'A memory of an open pair, as it is shown.';

-- What may a memory outdate that was just written by itself? It is compared as a fact of retain is (fact_candidates),
-- but no rule ends anything here. Near memories are linked (contradicts), so that the pair stays open until it is
-- settled: at most retain_links. Named as replies do, the likeliest first (notice_unsettled). p_embedding: a vector of
-- the model p_model; null: by words alone. A memory that is no fact (layer 2) is compared with nothing. Cost:
-- fact_candidates. Errors: 42501, P0002.
create or replace function loci_api.notice_memory(p_namespace text, p_id uuid, p_embedding real[] default null,
                                                  p_model integer default null) returns jsonb
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'writer');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_memory   loci_data.memories;
    v_known    loci_api.fact_candidate[];
    v_pairs    jsonb;
    v_near     record;
begin
    select m.* into v_memory from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    elsif v_memory.layer <> 2 then
        return '[]';
    end if;
    v_known := array(
        select k from loci.fact_candidates(p_namespace, jsonb_build_array(jsonb_build_object(
            'content', v_memory.content, 'source', v_memory.source, 'about', v_memory.about,
            'category', v_memory.category, 'valid_from', v_memory.valid_from, 'embedding', p_embedding,
            'embedding_model', p_model))) k
        where k.lineage <> v_memory.lineage);
    v_pairs := loci_internal.notice_unsettled(v_known, v_settings);
    for v_near in
        select u.id, u.strength from (
            select (p.value ->> 'target_id')::uuid as id, (p.value ->> 'similarity')::double precision as strength,
                   p.nth
            from jsonb_array_elements(v_pairs) with ordinality p(value, nth)
            where p.value -> 'is_near' = 'true' order by p.nth limit (v_settings ->> 'retain_links')::integer) u
        cross join lateral (select m.lineage_id from loci_data.memories m where m.namespace_id = v_ns
                            and m.id = u.id limit 1) t
        where not loci_internal.are_both_true(v_ns, v_memory.lineage_id, t.lineage_id)
        order by u.nth
    loop
        perform loci_api.link_memories(p_namespace, p_id, v_near.id, 'contradicts', greatest(v_near.strength, 0));
    end loop;
    return loci_internal.name_unsettled(v_ns, v_memory.lineage_id, v_pairs);
end $$;
comment on function loci_api.notice_memory(text, uuid, real[], integer) is
    'Compare a memory that was just written with what is known, link what it may outdate, and name it. Errors: 42501, '
    'P0002.';

-- Were two lineages said to be both true, whichever is the newer? Two probes of memory_links_present.
create or replace function loci_internal.are_both_true(p_namespace_id integer, p_one uuid, p_other uuid) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.memory_links l
                   where l.namespace_id = p_namespace_id and l.type = 'both_true' and l.superseded_at is null
                     and (l.source_id, l.target_id) in ((p_one, p_other), (p_other, p_one)))
$$;
comment on function loci_internal.are_both_true(integer, uuid, uuid) is
    'Whether it was settled that what two lineages say is both true.';

-- Which pairs are open (links contradicts) of which a memory with one of these document numbers is a part? The number,
-- and the current memory at the other end. A probe of memory_links_open in either direction; none where the namespace
-- has no such link.
create or replace function loci_internal.open_pairs_of(p_namespace_id integer, p_documents bigint[])
returns table (doc_id bigint, other_id uuid, is_newer boolean, similarity double precision)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    if not exists (select from loci_data.memory_links l where l.namespace_id = p_namespace_id
                   and l.type = 'contradicts' and l.superseded_at is null) then
        return;
    end if;
    return query
    select i.doc_id, c.id, e.is_newer, e.strength
    from unnest(p_documents) i(doc_id)
    cross join lateral (select o.id, o.lineage_id from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.doc_id = i.doc_id limit 1) m
    cross join lateral (
        select l.target_id as other, true as is_newer, l.strength from loci_data.memory_links l
        where l.namespace_id = p_namespace_id and l.source_id = m.lineage_id and l.type = 'contradicts'
          and l.superseded_at is null
        union all
        select l.source_id, false, l.strength from loci_data.memory_links l
        where l.namespace_id = p_namespace_id and l.target_id = m.lineage_id and l.type = 'contradicts'
          and l.superseded_at is null) e
    cross join lateral loci_internal.current_of_lineage(p_namespace_id, e.other) c
    where exists (select from loci_internal.current_of_lineage(p_namespace_id, m.lineage_id) w where w.id = m.id);
end $$;
comment on function loci_internal.open_pairs_of(integer, bigint[]) is
    'Open pairs of memories by document number: the current memory at the other end.';

-- Pairs of memories of which one may outdate the other, and nobody has said which holds: links of type contradicts
-- whose ends both have a current memory. Under the policies: rows of granted namespaces only. Index memory_links_open.
create or replace view loci.unsettled_memories with (security_invoker = true) as
select n.name as namespace, w.id as newer_id, w.content as newer, w.valid_from as newer_valid_from,
       w.category collate "C" as newer_category, w.source as newer_source,
       o.id as older_id, o.content as older, o.valid_from as older_valid_from,
       o.category collate "C" as older_category, o.source as older_source,
       l.strength as similarity, l.recorded_at as noticed_at
from loci_data.memory_links l
join loci_data.namespaces n on n.id = l.namespace_id
join loci_data.memories w on w.namespace_id = l.namespace_id and w.lineage_id = l.source_id
    and loci.holds_at(w, statement_timestamp(), null)
join loci_data.memories o on o.namespace_id = l.namespace_id and o.lineage_id = l.target_id
    and loci.holds_at(o, statement_timestamp(), null)
where l.type = 'contradicts' and l.superseded_at is null;
comment on view loci.unsettled_memories is
    'Pairs of current memories of which the newer one may outdate the older one, until somebody says which holds '
    '(settle).';
comment on column loci.unsettled_memories.namespace is 'Name of the namespace.';
comment on column loci.unsettled_memories.newer_id is
    'Identifier of the memory that was told later. Joins current_memories.id.';
comment on column loci.unsettled_memories.newer is 'Content of the newer memory.';
comment on column loci.unsettled_memories.newer_valid_from is 'Valid time: since when it is true.';
comment on column loci.unsettled_memories.newer_category is 'Slash-separated path.';
comment on column loci.unsettled_memories.newer_source is 'Speaker of the newer memory; null: nobody was named.';
comment on column loci.unsettled_memories.older_id is
    'Identifier of the memory that it may outdate. Joins current_memories.id.';
comment on column loci.unsettled_memories.older is 'Content of the older memory.';
comment on column loci.unsettled_memories.older_valid_from is 'Valid time: since when that is true.';
comment on column loci.unsettled_memories.older_category is 'Slash-separated path.';
comment on column loci.unsettled_memories.older_source is 'Speaker of the older memory; null: nobody was named.';
comment on column loci.unsettled_memories.similarity is 'How near both are by meaning, or how sure a rule is; 0 to 1.';
comment on column loci.unsettled_memories.noticed_at is 'Recorded time: since when the pair is open.';
