-- The feed and the operations log forget erased things: that something changed, when and through whom stays, its text
-- does not. This transaction has noted the erased things, and links and places with the other end that they had. The
-- sequencer is held off, so that nothing moves from the outbox past this. Index changes_subject; the outbox, which is
-- short, is read once.
create or replace function loci_internal.erase_changes(p_namespace_id integer) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_operation uuid := loci_internal.ensure_operation(p_namespace_id);
    v_kinds     text[];
    v_subjects  uuid[];
    v_ends      text[];
begin
    perform loci_internal.lock_background_work(p_namespace_id, 'changes', true);
    select array_agg(e.kind), array_agg(e.subject_id), array_agg(e.other) into v_kinds, v_subjects, v_ends
    from (select distinct o.kind, o.subject_id, loci_internal.change_other_end(o.kind, o.before) as other
          from loci_data.outbox o
          where o.namespace_id = p_namespace_id and o.operation_id = v_operation and o.action = 'erased'
            and o.subject_id is not null) e;
    update loci_data.outbox o set before = null, after = null
    where o.namespace_id = p_namespace_id and o.action <> 'erased'
      and ((o.kind, o.subject_id, loci_internal.change_other_end(o.kind, coalesce(o.after, o.before)))
           in (select * from unnest(v_kinds, v_subjects, v_ends))) is true;  -- a hash, however many
    update loci_data.changes c set before = null, after = null
    where c.namespace_id = p_namespace_id and c.position = any (array(
        select s.position from unnest(v_kinds, v_subjects, v_ends) e(kind, subject_id, other)
        cross join lateral (select h.position, h.kind, coalesce(h.after, h.before) as said, h.action
                            from loci_data.changes h
                            where h.namespace_id = p_namespace_id and h.subject_id = e.subject_id offset 0) s
        where s.kind = e.kind and s.action <> 'erased' and loci_internal.change_other_end(s.kind, s.said) = e.other));
end $$;
comment on function loci_internal.erase_changes(integer) is
    'Blank what the feed says of things that this transaction has erased.';

-- Which of the links or places of a subject is a change about? The id of the other end; empty for kinds that the
-- subject alone names. Inlined.
create or replace function loci_internal.change_other_end(p_kind text, p_said jsonb) returns text
language sql immutable parallel safe
return case p_kind when 'link' then p_said ->> 'target_id' when 'placement' then p_said ->> 'parent_id' else '' end;
comment on function loci_internal.change_other_end(text, jsonb) is
    'The other end of a link or a place that a change is about.';
