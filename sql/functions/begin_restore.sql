-- Begin to restore a namespace from the first line of an export (row X6). The operator's caller may name one that does not exist: it is made.
-- An empty namespace becomes what the line says; one with rows keeps its own description, language and settings: kept names those that
-- differ. vectors: why the vectors of the file are not taken here; null: they are, or there are none. Admin. From here to the end of the
-- transaction, others wait to move memories in this hierarchy, and attributes may refer to later lines.
-- Security definer: writes namespaces. Called by service/transfer/restore.py. Errors: 42501, P0002, 22023 (settings, language), 23514 (name).
create or replace function loci.begin_restore(p_namespace text, p_header jsonb)
returns table (created boolean, kept text[], vectors text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer;
    v_own   loci_data.namespaces;
    v_model loci_data.embedding_models;
begin
    created := loci.is_operator()
               and not exists (select from loci_data.namespaces n where n.name = p_namespace);
    if created then
        perform loci.create_namespace(p_namespace, p_header ->> 'description', p_header ->> 'language', p_header -> 'settings');
    end if;
    v_ns := loci.authorize(p_namespace, 'admin');
    perform loci.lock_hierarchy(v_ns, true);
    perform loci.hold_rates(v_ns);  -- edges are reckoned by the rates of now
    set constraints loci_data.attributes_superseded_by_fkey, loci_data.entities_merged_into_fkey deferred;
    perform set_config('loci.restoring', 'on', true);  -- rows of the past may stand on merged entities: see refuse_merged
    if loci.is_empty(v_ns) then
        perform loci.check_settings(p_header -> 'settings');
        update loci_data.namespaces n
        set description = p_header ->> 'description', settings = p_header -> 'settings', created_at = (p_header ->> 'created_at')::timestamptz,
            updated_at = (p_header ->> 'updated_at')::timestamptz, language = loci.text_language(p_header ->> 'language')
        where n.id = v_ns;
    end if;
    select * into v_own from loci_data.namespaces n where n.id = v_ns;
    kept := array(select f.name from (values
                      ('description', v_own.description is distinct from p_header ->> 'description'),
                      ('language', v_own.language is distinct from loci.text_language(p_header ->> 'language')),
                      ('settings', v_own.settings <> p_header -> 'settings')) f(name, differs) where f.differs);
    if jsonb_typeof(p_header -> 'vectors') = 'object' then
        lock table loci_data.memories in row exclusive mode;  -- the active model stays what it is until the end: see finish_reembedding
        select * into v_model from loci_data.embedding_models m where m.active;
        if v_model.name is distinct from p_header #>> '{vectors,model}' or v_model.dimensions <> (p_header #>> '{vectors,dimensions}')::integer then
            vectors := format('the vectors of the file are of the model %s (%s dimensions); %s', p_header #>> '{vectors,model}',
                              p_header #>> '{vectors,dimensions}', case when v_model.id is null then 'there is none here yet'
                              else format('the one here is %s (%s)', v_model.name, v_model.dimensions) end);
        end if;
    end if;
    return next;
end $$;
comment on function loci.begin_restore(text, jsonb) is 'Begin to restore a namespace: make it if it does not exist, and settle what its first line says. Admin. Errors: 42501, P0002, 22023, 23514.';
