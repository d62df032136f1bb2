-- Do the facts of a namespace keep their promises? facts: each has the status, the end and the successor that follow
-- from what was said of it, from its memory and from the decisions about it; so none is superseded without a reason,
-- and none that is deleted, or whose memory is forgotten, supersedes another. decisions: what is named as the successor
-- is so by an applied decision, and holds. Part of loci.verify. Reads all facts.
create or replace function loci_internal.verify_facts(p_namespace_id integer)
returns table (name text, checked bigint, broken bigint, example text)
language sql stable set search_path = ''
as $$
    with fact as materialized (
        select a.id, (a.status, a.superseded_by, a.valid_to, a.own_to)
                     is distinct from (f.status, f.superseded_by, f.valid_to, s.own_to) as differs,
               a.superseded_by is not null and not exists (
                   select from loci_data.supersessions d
                   join loci_data.attributes n on n.namespace_id = p_namespace_id and n.id = d.newer_id
                   where d.namespace_id = p_namespace_id and d.older_id = a.id and d.newer_id = a.superseded_by
                     and d.status = 'applied' and n.status <> 'deleted'
                     and n.own_to is distinct from n.valid_from) as undecided
        from loci_data.attributes a
        cross join lateral loci_internal.fact_span(p_namespace_id, a.id) s
        cross join lateral loci_internal.fold_facts(p_namespace_id, array[a.id]) f
        where a.namespace_id = p_namespace_id
    )
    select 'facts', count(*), count(*) filter (where f.differs), min(f.id::text) filter (where f.differs) from fact f
    union all
    select 'decisions', count(*), count(*) filter (where f.undecided), min(f.id::text) filter (where f.undecided)
    from fact f
$$;
comment on function loci_internal.verify_facts(integer) is
    'Promises about facts: rows checked, rows that break it, an example.';
