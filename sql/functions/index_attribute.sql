-- Trigger: attribute_terms holds the terms of active facts, and of nothing else: constraints are never superseded automatically. A fact that
-- is new, moved or active again waits in contradiction_queue to be compared with its siblings by a model, if the namespace wants that.
-- Reads the statement (0.3 ms) where content, status or aspect changed.
create or replace function loci.index_attribute() returns trigger
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
        from unnest(loci.offered_terms(loci.read_statement(new.content))) t(term) where t.term is not null;
        insert into loci_data.contradiction_queue (namespace_id, attribute_id) values (new.namespace_id, new.id) on conflict do nothing;
    end if;
    return null;
end $$;
comment on function loci.index_attribute() is 'Trigger: keep attribute_terms and contradiction_queue of a changed attribute.';
