-- What waits for the worker? Asked four times a second by each process that works, so that what others write is seen,
-- instead of a look by each kind of work: of the vectors those of the active model, of the feed what was written and
-- has no position. A probe of an index each (of vectors: of each namespace that waits). Security definer; the
-- operator's.
create or replace function loci_api.waiting_work(out feed boolean, out names boolean, out vectors boolean)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    perform loci_internal.require_operator('look for work');
    feed := exists (select from loci_data.outbox o order by o.id);
    names := exists (select from loci_data.name_queue);
    vectors := exists (select from loci_internal.waiting_namespaces('embedding_queue', v_model))
        or exists (select from loci_internal.waiting_namespaces('entity_queue', v_model));
end $$;
comment on function loci_api.waiting_work() is
    'Whether changes wait for a place in the feed, memories for names, and either for vectors. Operator only.';
