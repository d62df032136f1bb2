-- Verification: each promise about a namespace, checked.

-- Compare the versions of a namespace's lineages with each other: none overlap, one at most is open, their numbers are
-- counted.
create or replace function loci_internal.verify_versions(p_namespace_id integer)
returns table (name text, checked bigint, broken bigint, example text)
language sql stable set search_path = ''
as $$
    select 'overlap', count(*),
           count(*) filter (where o.until is null and o.follower is not null or o.until > o.follower),
           min(o.lineage) filter (where o.until is null and o.follower is not null or o.until > o.follower)
    from (select m.lineage, m.valid_to as until,
          lead(m.valid_from) over (partition by m.lineage order by m.valid_from, m.valid_to) as follower
          from loci_data.memories m where m.namespace_id = p_namespace_id and m.status = 'active'
              and (m.valid_to is null or m.valid_to > m.valid_from)) o
    union all
    select 'current', count(*), count(*) filter (where c.open > 1), min(c.lineage) filter (where c.open > 1)
    from (select m.lineage, count(*) filter (where m.valid_to is null and m.status = 'active') as open
          from loci_data.memories m where m.namespace_id = p_namespace_id group by m.lineage) c
    union all
    select 'versions', count(*), count(*) filter (where v.last > v.versions),
           min(v.lineage) filter (where v.last > v.versions)
    from (select l.lineage, l.versions,
          (select max(m.version) from loci_data.memories m where m.namespace_id = p_namespace_id
           and m.lineage = l.lineage) as last
          from loci_data.lineages l where l.namespace_id = p_namespace_id) v
$$;
comment on function loci_internal.verify_versions(integer) is
    'Whether versions of lineages overlap, are open twice or were counted wrong.';

-- Compare the edges of a namespace with their evidence, and their beliefs with each other.
create or replace function loci_internal.verify_edges(p_namespace_id integer)
returns table (name text, checked bigint, broken bigint, example text)
language sql stable set search_path = ''
as $$
    select 'evidence', count(*), count(*) filter (where v.differs), min(v.id::text) filter (where v.differs)
    from (select e.id, (e.confidence, e.initial_confidence, e.restored_at, e.first_observed_at, e.last_observed_at,
                        e.observations) is distinct from (f.confidence, f.initial_confidence, f.restored_at,
                                                          f.first_observed_at, f.last_observed_at,
                                                          f.observations) as differs
          from loci_data.edges e
          cross join lateral loci_internal.edge_figures(p_namespace_id, e.id, 'infinity', 'infinity') f
          where e.namespace_id = p_namespace_id and e.superseded_at is null
            and (f.observations > 0 or not exists (  -- what only forgotten memories say keeps its last figures
                 select from loci_data.edge_observations o
                 where o.namespace_id = p_namespace_id and o.edge_id = e.id))) v
    union all
    select 'beliefs', count(*), count(*) filter (where b.gap), min(b.edge_id::text) filter (where b.gap)
    from (select k.edge_id, k.believed_at <> coalesce(
                     lag(k.believed_to) over (partition by k.edge_id order by k.believed_to), e.recorded_at) as gap
          from loci_data.edge_beliefs k join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = k.edge_id
          where k.namespace_id = p_namespace_id) b
$$;
comment on function loci_internal.verify_edges(integer) is
    'Whether edges are what their evidence says, and their beliefs have gaps.';

-- Does a namespace keep its promises? One row a promise: how many rows were looked at, how many break it, and one of
-- them. Reads the whole namespace. closure: memory_closure is exactly the recursion over placements. overlap: versions
-- of a lineage are never valid together. current: at most one open version a lineage. versions: lineages count what was
-- written. index: each memory has its text in the lexical index. postings: blocks and ranges together hold the words of
-- each memory once, and of nothing else. orphans: placements and links lead to memories that are there. evidence:
-- confidence and counts of believed edges are what their observations add up to. beliefs: what was believed of an
-- edge's spells follows one another without a gap. facts, decisions: see verify_facts.
create or replace function loci.verify(p_namespace text)
returns table (name text, checked bigint, broken bigint, example text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    with truth as materialized (
        select * from loci_internal.recompute_closure(v_ns)
    ), closure as materialized (
        select c.ancestor_id, c.descendant_id, c.depth, c.valid_from, c.valid_to, c.recorded_at, c.superseded_at
        from loci_data.memory_closure c where c.namespace_id = v_ns
    ), differs as (
        (select 'missing' as what, m.* from (table truth except all table closure) m)
        union all
        (select 'extra', m.* from (table closure except all table truth) m)
    )
    select 'closure', (select count(*) from closure), (select count(*) from differs),
           (select format('%s path %s > %s', d.what, d.ancestor_id, d.descendant_id) from differs d limit 1)
    union all
    select v.name, v.checked, v.broken, v.example from loci_internal.verify_versions(v_ns) v
    union all
    select 'index', count(*), count(*) filter (where t.memory_id is null),
           min(m.id::text) filter (where t.memory_id is null)
    from loci_data.memories m left join loci_data.memory_texts t on t.namespace_id = v_ns and t.memory_id = m.id
    where m.namespace_id = v_ns
    union all
    select 'postings', count(*), count(*) filter (where p.differs), min(p.id) filter (where p.differs)
    from (select coalesce(t.id, 'document ' || h.doc_id) as id, t.postings is distinct from h.postings as differs
          from (select m.id::text as id, m.doc_id, loci_internal.text_postings(l.language, m) as postings
                from loci_data.memories m join loci_data.namespaces l on l.id = m.namespace_id
                where m.namespace_id = v_ns) t
          full join (select x.doc_id, x.postings from loci_internal.indexed_postings(v_ns) x) h on h.doc_id = t.doc_id
          where t.postings is not null or h.postings is not null) p
    union all
    select 'orphans', count(*), count(*) filter (where not e.there), min(e.id::text) filter (where not e.there)
    from (select n.id, exists (select from loci_data.memories m where m.namespace_id = v_ns
                               and m.lineage_id = n.id) as there
          from (select node_id as id from loci_data.memory_placements where namespace_id = v_ns
                union select parent_id from loci_data.memory_placements where namespace_id = v_ns
                union select source_id from loci_data.memory_links where namespace_id = v_ns
                union select target_id from loci_data.memory_links where namespace_id = v_ns) n) e
    union all
    select v.name, v.checked, v.broken, v.example from loci_internal.verify_edges(v_ns) v
    union all
    select v.name, v.checked, v.broken, v.example from loci_internal.verify_facts(v_ns) v;
end $$;
comment on function loci.verify(text) is
    'Check what a namespace promises: rows checked, rows that break it, an example. Errors: 42501, P0002.';

-- Contents of the lexical index by document, in blocks and in ranges: a sum over its postings, in any order.
create or replace function loci_internal.indexed_postings(p_namespace_id integer)
returns table (doc_id bigint, postings numeric, length bigint)
language sql stable set search_path = ''
as $$
    select h.doc_id, sum(hash_record_extended((h.term, h.frequency, h.length), 0)), max(h.length)::bigint
    from (select p.term, e >> 23 as doc_id, (e >> 15 & 255)::integer as frequency, (e & 32767)::integer as length
          from loci_data.postings p cross join lateral unnest(p.entries) e where p.namespace_id = p_namespace_id
          union all
          select o.term, o.doc_id, o.frequency, o.length
          from loci_data.lexical_ranges r
          cross join lateral loci_internal.range_postings(r.namespace_id, r.range) o
          where r.namespace_id = p_namespace_id) h
    group by h.doc_id
$$;
comment on function loci_internal.indexed_postings(integer) is
    'Contents of the lexical index by document, as a sum of hashes, and its length in words.';

-- Contents that it must have of a memory: the same sum over the terms of its text; null where it has none.
create or replace function loci_internal.text_postings(p_language regconfig, p_memory loci_data.memories)
returns numeric
language sql stable
as $$
    select sum(hash_record_extended((t.term, least(t.frequency, 255)::integer, least(t.length, 32767)::integer), 0))
    from (select d.term, d.frequency, sum(d.frequency) over () as length
          from loci_internal.document_terms(p_language, loci_internal.indexed_text(p_memory)) d) t
$$;
comment on function loci_internal.text_postings(regconfig, loci_data.memories) is
    'Contents that the lexical index must have of a memory, as a sum of hashes.';
