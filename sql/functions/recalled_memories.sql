-- The memories in the answer of a logged recall, and what became of each: was its session shown it then or later (injected_at), how often has
-- the session found it by its words since it was shown (hits), and what was said of it. Inlines into get_recall. A range of
-- recall_results and one probe of injections each. Internal.
create or replace function loci.recalled_memories(p_namespace_id integer, p_recall_id uuid, p_session_id text, p_at timestamptz)
returns table (rank integer, memory_id uuid, score double precision, arms jsonb, injected_at timestamptz, hits integer, last_hit_at timestamptz,
               useful boolean, note text, rated_at timestamptz, rated_by uuid)
language sql stable
as $$
    select x.rank, x.memory_id, x.score, x.arms, case when i.injected_at >= p_at then i.injected_at end, i.hits, i.last_hit_at,
           x.useful, x.note, x.rated_at, x.rated_by
    from loci_data.recall_results x
    left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = p_session_id and i.memory_id = x.memory_id
    where x.namespace_id = p_namespace_id and x.recall_id = p_recall_id
$$;
comment on function loci.recalled_memories(integer, uuid, text, timestamptz) is 'Memories of a logged recall, with injection, hits and rating. Internal.';
