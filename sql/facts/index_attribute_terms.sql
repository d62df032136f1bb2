-- Trigger: attribute_terms holds the terms of active facts, and of nothing else: constraints are never superseded
-- automatically. A fact that is new, moved or active again waits in contradiction_queue to be compared with its
-- siblings by a model, if the namespace wants that. Reads the statement (0.3 ms) where content, status or aspect
-- changed.
create or replace function loci_internal.index_attribute_terms() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    if tg_op = 'UPDATE' then
        delete from loci_data.attribute_terms t where t.namespace_id = old.namespace_id and t.attribute_id = old.id;
        delete from loci_data.contradiction_queue q where q.namespace_id = old.namespace_id and q.attribute_id = old.id;
    end if;
    if new.status = 'active' and new.kind = 'attribute' then
        insert into loci_data.attribute_terms (namespace_id, aspect_id, term, attribute_id)
        select distinct new.namespace_id, new.aspect_id, hashtextextended(t.term, 0), new.id
        from unnest(loci_internal.contradiction_index_terms(loci_internal.read_statement(new.content))) t(term)
        where t.term is not null;
        insert into loci_data.contradiction_queue (namespace_id, attribute_id) values (new.namespace_id, new.id)
        on conflict do nothing;
    end if;
    return null;
end $$;
comment on function loci_internal.index_attribute_terms() is
    'Trigger: keep attribute_terms and contradiction_queue of a changed attribute.';

-- Under what is a statement found by those that may contradict it? Hashes, about three more than it has words; whoever
-- contradicts it asks for one of them (contradiction_search_terms):
--   t stem        each stem of its sequence
--   d stem        denied, or told as past: the last stem, which who states the same has too
--   a side stem   a word that has an opposite: the last stem beside it
--   c stem        a change: the last stem of what is said to have changed
--   v …           subject and predicate, if it gives a value to something that has one; the predicate alone where the
--            subject may be left out
--   p …           how it begins: its first two and three stems
--   n …           how it begins, as far as the word after now
-- Pure.
create or replace function loci_internal.contradiction_index_terms(p_statement loci_internal.statement) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select array(select 't ' || s from unnest(p_statement.sequence) s)
        || case when num_nonnulls(p_statement.negators, p_statement.past) > 0
                then array['d ' || p_statement.sequence[cardinality(p_statement.sequence)]] else '{}' end
        || array(select 'a ' || o.side || ' ' || coalesce(r.rest[cardinality(r.rest)], '')
                 from unnest(p_statement.opposites, p_statement.opposite_stems) o(side, stem)
                 cross join lateral (select array_remove(p_statement.sequence, o.stem) as rest) r)
        || case when p_statement.relation = 'change'
                then array['c '
                           || (coalesce(p_statement.replaced, p_statement.subject))[cardinality(
                               coalesce(p_statement.replaced, p_statement.subject))]]
                else '{}' end
        || loci_internal.value_terms(p_statement)
        || array['p ' || array_to_string(p_statement.sequence[:2], ' '),
                 'p ' || array_to_string(p_statement.sequence[:3], ' ')]
        || case when p_statement.now_prefix is not null
            then array['n ' || array_to_string(p_statement.now_prefix, ' ')] else '{}' end);
end $$;
comment on function loci_internal.contradiction_index_terms(loci_internal.statement) is
    'Terms under which a statement is found by what may contradict it.';

-- loci_data.attribute_terms follows loci_data.attributes in the same transaction. Attributes follow the memory that
-- they rest on: one look-up in attributes_memory, where a memory's status changes.
create or replace trigger attributes_terms_added after insert on loci_data.attributes
    for each row execute function loci_internal.index_attribute_terms();
create or replace trigger attributes_terms_changed after update on loci_data.attributes
    for each row when ((old.content, old.status, old.kind, old.aspect_id)
                       is distinct from (new.content, new.status, new.kind, new.aspect_id))
    execute function loci_internal.index_attribute_terms();
