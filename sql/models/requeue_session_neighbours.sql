-- A vector carries the text of the two active turns before it (memory_embedding_text). When memories are erased,
-- vectors that may
-- carry their words are deleted, queued anew, and what a provider said against them is forgotten. Which? Later ones of
-- the session with fewer than two turns between that surely stood there whenever they were embedded: written before,
-- active and in their place ever since. A memory that was moved in time counts for all of the session from its earliest
-- place on. Ranges of memories_session.
create or replace function loci_internal.requeue_session_neighbours(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_near uuid[];
begin
    with gone as materialized (
        select m.id, m.session_id, m.valid_from, m.doc_id, least(m.valid_from, min(b.valid_from)) as earliest,
               coalesce(bool_or(b.valid_from <> m.valid_from), false) as moved
        from loci_data.memories m
        left join loci_data.memory_beliefs b on b.namespace_id = p_namespace_id and b.memory_id = m.id
        where m.namespace_id = p_namespace_id and m.id = any (p_ids) and m.session_id is not null
        group by m.id, m.session_id, m.valid_from, m.doc_id
    ), later as (
        select m.id, m.session_id, m.valid_from, m.doc_id
        from (select g.session_id, min(g.earliest) as since from gone g group by g.session_id) s
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.session_id = s.session_id
             and m.valid_from >= s.since
        where not exists (select from gone g where g.id = m.id)
    )
    select array_agg(l.id) into v_near
    from later l
    left join lateral (
        select b.valid_from, b.doc_id from loci_data.memories b
        where b.namespace_id = p_namespace_id and b.session_id = l.session_id
          and (b.valid_from, b.doc_id) < (l.valid_from, l.doc_id)
          and b.doc_id < l.doc_id and b.status = 'active' and not exists (
              select from loci_data.memory_beliefs o where o.namespace_id = p_namespace_id and o.memory_id = b.id
              and (o.status, o.valid_from) <> (b.status, b.valid_from))
        order by b.valid_from desc, b.doc_id desc limit 1 offset 1) reach on true
    where exists (
        select from gone g where g.session_id = l.session_id
        and (g.moved and g.earliest <= l.valid_from
             or (g.valid_from, g.doc_id) < (l.valid_from, l.doc_id)
                and (reach.doc_id is null or (g.valid_from, g.doc_id) >= (reach.valid_from, reach.doc_id))));

    if v_near is null then
        return;
    end if;
    insert into loci_data.embedding_queue as q (namespace_id, memory_id, model_id)
    select p_namespace_id, n, m.id from unnest(v_near) n cross join loci_data.embedding_models m where m.active
        or m.filling
    on conflict (namespace_id, memory_id, model_id) do update set error = null where q.error is not null;
    delete from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.memory_id = any (v_near);
end $$;
comment on function loci_internal.requeue_session_neighbours(integer, uuid[]) is
    'Delete and queue anew the vectors that may carry the text of memories.';
