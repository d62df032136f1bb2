-- What the feed and the operations log said of erased things goes with them (row M8): that something changed, when and through whom
-- stays, what it was does not. What was erased is what this transaction has noted as erased, attributes that it emptied, and links and
-- places with the other end that they had. The sequencer is held off, so that nothing moves from the outbox past this.
-- Index changes_subject; the outbox, which is short, is read once. Called by erase_memories; internal.
create or replace function loci.erase_changes(p_namespace_id integer, p_emptied uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_operation uuid := loci.operation_of(p_namespace_id);
    v_kinds     text[];
    v_subjects  uuid[];
    v_ends      text[];
begin
    perform loci.lock_work(p_namespace_id, 'changes', true);
    select array_agg(e.kind), array_agg(e.subject_id), array_agg(e.other) into v_kinds, v_subjects, v_ends
    from (select distinct o.kind, o.subject_id, loci.change_end(o.kind, o.before) as other from loci_data.outbox o
          where o.namespace_id = p_namespace_id and o.operation_id = v_operation and o.action = 'erased' and o.subject_id is not null
          union select 'attribute', u, '' from unnest(p_emptied) u) e;
    update loci_data.outbox o set before = null, after = null
    where o.namespace_id = p_namespace_id and o.action <> 'erased'
      and ((o.kind, o.subject_id, loci.change_end(o.kind, coalesce(o.after, o.before)))
           in (select * from unnest(v_kinds, v_subjects, v_ends))) is true;  -- a hash, however many
    update loci_data.changes c set before = null, after = null
    where c.namespace_id = p_namespace_id and c.position = any (array(
        select s.position from unnest(v_kinds, v_subjects, v_ends) e(kind, subject_id, other)
        cross join lateral (select h.position, h.kind, coalesce(h.after, h.before) as said, h.action from loci_data.changes h
                            where h.namespace_id = p_namespace_id and h.subject_id = e.subject_id offset 0) s
        where s.kind = e.kind and s.action <> 'erased' and loci.change_end(s.kind, s.said) = e.other));
end $$;
comment on function loci.erase_changes(integer, uuid[]) is 'Blank what the feed says of things that this transaction has erased. Internal.';
