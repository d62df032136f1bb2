-- Trigger: a memory has another vector, so it stands nowhere on maps that were laid out, until it is placed anew.
create or replace function loci_internal.delete_stale_point() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    delete from loci_data.map_points p
    where p.namespace_id = new.namespace_id and p.memory_id = new.memory_id and p.model_id = new.model_id;
    return null;
end $$;
comment on function loci_internal.delete_stale_point() is
    'Trigger: a memory with another vector gets another place on maps that were laid out.';

-- Without a condition: a dump is restored without a search path, where no operator of another schema would be found.
create or replace trigger memory_vectors_changed after update of embedding on loci_data.memory_vectors
    for each row execute function loci_internal.delete_stale_point();
