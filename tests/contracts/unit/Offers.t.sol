// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IController} from "../../../contracts/interfaces/IController.sol";
import {LeaseRequest, LeaseState, LeaseView, Offer, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {SmartWallet} from "../../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Check.sol";
import {GroupFixture} from "./GroupFixture.sol";

contract OffersTest is GroupFixture {
    uint256 private constant SELLER_KEY = 0xB0B;
    uint80 private constant OFFERED_PRICE = PRICE / 2;
    uint256 private constant NONCE = 0x1234; // word 0x12, bit 0x34
    address private immutable seller = vm.addr(SELLER_KEY);
    uint32 private machine;

    function setUp() public override {
        super.setUp();
        _fund(seller);
        machine = _registerBy(seller);
    }

    function _registerBy(address provider) private returns (uint32) {
        vm.prank(provider);
        return pool.register(_terms(), 2, 1, "hardware", "contact", OPERATOR, _consent(address(pool), provider));
    }

    function _offer() private view returns (Offer memory) {
        return Offer({
            account: pool.machineOf(machine).provider,
            machine: machine,
            revision: 1,
            price: OFFERED_PRICE,
            cells: 8,
            duration: 2 hours,
            spot: false,
            tenant: address(0),
            nonce: NONCE,
            expiresAt: uint64(NOW + 1 hours)
        });
    }

    function _signed(Offer memory offer) private view returns (bytes memory) {
        return abi.encodePacked(KEY, _bare(SELLER_KEY, pool.offerDigest(offer)));
    }

    function _call(LeaseRequest memory request, Offer memory offer, bytes memory proof)
        private
        view
        returns (bytes memory)
    {
        return abi.encodeCall(pool.openWithOffer, (request, offer, proof));
    }

    function _take(LeaseRequest memory request, Offer memory offer) private returns (uint256) {
        bytes memory proof = _signed(offer);
        vm.prank(tenant);
        return pool.openWithOffer(request, offer, proof);
    }

    function _take() private returns (uint256) {
        return _take(_request(machine, 8, 2 hours), _offer());
    }

    function _refused(LeaseRequest memory request, Offer memory offer, bytes memory error_) private {
        _refused(tenant, _call(request, offer, _signed(offer)), error_);
    }

    function _mismatch(LeaseRequest memory request, Offer memory offer, bytes32 field) private {
        _refused(request, offer, abi.encodeWithSelector(OfferMismatch.selector, field));
    }

    function _wrongProof(Offer memory offer, bytes memory proof) private {
        bytes memory error_ = abi.encodeWithSelector(WrongProof.selector, seller);
        _refused(tenant, _call(_request(machine, 8, 2 hours), offer, proof), error_);
    }

    // --------------------------------------------------------------------------------------------------- what it gives

    function test_an_offer_opens_at_its_own_price() external {
        uint96 deposit = uint96(8 * 2 hours * CELL_SECOND / 2);
        _expectEvent();
        emit LeaseOpened(
            1 << 16, machine, tenant, 0x01FF, 1, 1, OFFERED_PRICE, 2 hours, deposit, deposit, WORKLOAD, 0, bytes32(0)
        );
        _expectEvent();
        emit OfferTaken(seller, NONCE, 1 << 16);
        uint256 lease = _take();
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.tenant == tenant && seen.price == OFFERED_PRICE && seen.deposit == deposit);
        vm.assertFalse(seen.spot);
        vm.assertEq(pool.offersOf(seller, 0x12), 1 << 0x34);

        _start(lease);
        skip(2 hours);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(seller), deposit - deposit / 20);
    }

    /// @dev What is listed binds whoever rents at what is listed.
    function test_an_offer_stands_in_place_of_what_is_listed() external {
        Offer memory offer = _offer();
        offer.duration = 30 days;
        offer.expiresAt = type(uint64).max;
        _take(_request(machine, 1, 1), offer); // shorter than the listed least
        offer.nonce = 0;
        _take(_request(machine, 1, 30 days), offer); // longer than the listed most
        offer.nonce = 1;
        skip(400 days); // behind the last day on which it is listed
        _take(_request(machine, 1, 1 days), offer);
        offer.nonce = 2;
        offer.price = 0; // as a present
        uint256 lease = _take(_request(machine, 1, 1 days), offer);
        vm.assertEq(pool.leaseOf(lease).deposit, 0);
    }

    function test_a_spot_price_that_is_not_listed() external {
        Offer memory offer = _offer();
        offer.spot = true;
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        request.spot = true;
        uint256 lease = _take(request, offer);
        vm.assertTrue(pool.leaseOf(lease).spot);
        _start(lease);
        vm.prank(OPERATOR);
        pool.terminate(lease);
        vm.assertEq(pool.leaseOf(lease).end, NOW + 1 hours);
    }

    function test_all_that_an_open_may_ask_for() external {
        Offer memory offer = _offer();
        uint256 old = _take(_request(machine, 8, 2 hours), offer);
        _start(old);
        skip(2 hours);
        LeaseRequest memory request = _request(machine, 4, 1 hours);
        request.placement = 0x01F0; // of the GPU that the old one holds
        request.settle = _one(old);
        request.reuse = old;
        request.backup = "standby";
        (offer.nonce, offer.expiresAt) = (7, uint64(NOW + 1 days));
        uint256 lease = _take(request, offer);
        vm.assertEq(lease, old + 1);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.placement == 0x01F0 && seen.backup == "standby");
    }

    // ------------------------------------------------------------------------------------------------ what it does not

    function test_every_field_binds() external {
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        Offer memory offer = _offer();
        offer.machine = machine + 1;
        _mismatch(request, offer, "machine");
        offer = _offer();
        offer.revision = 2;
        _mismatch(request, offer, "revision");
        offer = _offer();
        offer.cells = 7;
        _mismatch(request, offer, "cells");
        offer = _offer();
        offer.duration = 2 hours - 1;
        _mismatch(request, offer, "duration");
        request.duration = 0;
        _mismatch(request, offer, "duration");
        request.duration = 2 hours;
        offer = _offer();
        offer.spot = true;
        _mismatch(request, offer, "spot");
        request.spot = true;
        _mismatch(request, _offer(), "spot");
        request.spot = false;
        offer = _offer();
        offer.tenant = THIEF;
        _mismatch(request, offer, "tenant");
        offer.tenant = tenant;
        _take(request, offer);
    }

    /// @dev Against the rule said plainly.
    function testFuzz_it_opens_what_it_allows_and_nothing_else(
        LeaseRequest memory request,
        Offer memory offer,
        uint256 chance
    ) external {
        uint8[5] memory shares = [1, 2, 4, 8, 16];
        (request.machine, request.revision) = (machine, 1);
        (request.share, request.placement) = (shares[request.share % 5], 0);
        (request.duration, request.maxPrice, request.allowUnverified) = (request.duration % 2 days, PRICE, true);
        (request.settle, request.reuse) = (new uint256[](0), 0);
        offer.account = seller;
        (offer.machine, offer.revision, offer.price) = (machine, 1, offer.price % (PRICE + PRICE / 8));
        // Often enough what is asked for is what is offered, or a little beside it.
        if (chance & 1 != 0) offer.cells = request.share;
        if (chance & 6 != 0) offer.duration = request.duration;
        if (chance & 8 != 0) offer.duration = request.duration == 0 ? 0 : request.duration - 1;
        if (chance & 48 != 0) offer.spot = request.spot;
        if (chance & 64 != 0) offer.tenant = tenant;
        if (chance & 128 != 0) offer.tenant = address(0);
        if (chance & 768 != 0) offer.expiresAt = uint64(NOW + chance % 3 - 1);
        bool allowed = request.share <= offer.cells && request.duration <= offer.duration && request.duration != 0
            && request.spot == offer.spot && (offer.tenant == tenant || offer.tenant == address(0))
            && offer.expiresAt >= NOW && offer.price <= PRICE;

        bytes memory call = _call(request, offer, _signed(offer));
        vm.prank(tenant);
        (bool ok,) = address(pool).call(call);
        vm.assertTrue(ok == allowed, "allowed");
        vm.assertEq(pool.slotCount(), allowed ? 1 : 0);
        vm.assertEq(pool.offersOf(seller, offer.nonce >> 8), allowed ? 1 << (offer.nonce & 0xFF) : 0);
        vm.prank(tenant);
        (ok,) = address(pool).call(call);
        vm.assertFalse(ok);
    }

    function test_a_price_above_what_the_tenant_accepts() external {
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        request.maxPrice = OFFERED_PRICE - 1;
        _refused(request, _offer(), abi.encodeWithSelector(PriceTooHigh.selector, OFFERED_PRICE, OFFERED_PRICE - 1));
        request.maxPrice = OFFERED_PRICE;
        _take(request, _offer());
    }

    function test_an_offer_lasts_to_its_last_second() external {
        skip(1 hours + 1);
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        _refused(request, _offer(), abi.encodeWithSelector(OfferExpired.selector, NOW + 1 hours));
        vm.warp(NOW + 1 hours);
        _take();
    }

    /// @dev New terms or hardware end every offer made before them.
    function test_an_offer_is_for_a_revision() external {
        Terms memory terms = _terms();
        vm.prank(seller);
        pool.setTerms(machine, terms);
        _refused(_request(machine, 8, 2 hours), _offer(), abi.encodeWithSelector(RevisionChanged.selector, 2));
    }

    function test_a_machine_out_of_service() external {
        vm.prank(seller);
        pool.delist(machine);
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        _refused(request, _offer(), abi.encodeWithSelector(MachineDelisted.selector, machine));
        vm.prank(OWNER);
        pool.setPaused(true);
        _refused(request, _offer(), abi.encodeWithSelector(Paused.selector));
    }

    /// @dev What was signed for so many cells and seconds is for no more; for less it is.
    function test_it_neither_lasts_nor_grows() external {
        uint256 lease = _take(_request(machine, 4, 1 hours), _offer());
        _start(lease);
        skip(20 minutes); // the trial is over
        uint256 left = 40 minutes;
        bytes memory error_ = abi.encodeWithSelector(DurationOutOfRange.selector, left + 1, 0, left);
        _refused(tenant, abi.encodeCall(pool.extend, (lease, 1)), error_);
        error_ = abi.encodeWithSelector(OfferMismatch.selector, bytes32("cells"));
        _refused(tenant, abi.encodeCall(pool.resize, (lease, 8, 0)), error_);
        vm.prank(tenant);
        pool.resize(lease, 2, 0);
        vm.assertEq(pool.machineOf(machine).leased, 3);
    }

    // ------------------------------------------------------------------------------------------------------------ once

    function test_an_offer_works_once() external {
        _take();
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        bytes memory error_ = abi.encodeWithSelector(OfferUsed.selector, NONCE);
        _refused(request, _offer(), error_);
        bytes memory proof = _signed(_offer());
        _refused(THIEF, _call(request, _offer(), proof), error_);
        Offer memory other = _offer(); // other words under the same number
        other.price = PRICE;
        _refused(request, other, error_);
        other.nonce = NONCE + 1; // no order is kept
        _take(request, other);
        other.nonce = NONCE + 256;
        _take(request, other);
        vm.assertEq(pool.offersOf(seller, 0x12), 3 << 0x34);
        vm.assertEq(pool.offersOf(seller, 0x13), 1 << 0x34);
    }

    function test_cancelling() external {
        vm.prank(THIEF); // nobody's but his own
        pool.cancelOffers(0x12, type(uint256).max);
        _take();
        _expectEvent();
        emit OffersCancelled(seller, 0x12, 7 << 0x34);
        vm.prank(seller);
        pool.cancelOffers(0x12, 6 << 0x34);
        Offer memory offer = _offer();
        offer.nonce = NONCE + 1;
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        _refused(request, offer, abi.encodeWithSelector(OfferUsed.selector, NONCE + 1));
        vm.prank(seller); // cancelling brings nothing back
        pool.cancelOffers(0x12, 0);
        _refused(request, _offer(), abi.encodeWithSelector(OfferUsed.selector, NONCE));
        offer.nonce = NONCE + 3;
        _take(request, offer);
    }

    /// @dev A failed open leaves the offer as it was.
    function test_what_fails_uses_nothing() external {
        _take(_request(machine, 8, 1 hours), _offer());
        Offer memory offer = _offer();
        (offer.nonce, offer.cells) = (9, 16);
        LeaseRequest memory request = _request(machine, 16, 1 hours);
        _refused(request, offer, abi.encodeWithSelector(NoFreeCells.selector, machine, 0xFF));
        vm.assertEq(pool.offersOf(seller, 0), 0);
    }

    // ----------------------------------------------------------------------------------------------------- whose word

    function test_only_the_provider_offers() external {
        bytes32 digest = pool.offerDigest(_offer());
        _wrongProof(_offer(), abi.encodePacked(KEY, _bare(TENANT_KEY, digest)));
        _wrongProof(_offer(), _proof(digest)); // of a group that it is not
        _wrongProof(_offer(), "");
        _wrongProof(_offer(), _bare(SELLER_KEY, digest)); // of no kind
    }

    function test_nothing_signed_may_change() external {
        bytes memory proof = _signed(_offer());
        Offer memory offer = _offer();
        offer.price = 0;
        _wrongProof(offer, proof);
        offer = _offer();
        offer.cells = 16;
        _wrongProof(offer, proof);
        offer = _offer();
        offer.duration = 3 hours;
        _wrongProof(offer, proof);
        offer = _offer();
        offer.tenant = tenant;
        _wrongProof(offer, proof);
        offer = _offer();
        offer.nonce = 1;
        _wrongProof(offer, proof);
        offer = _offer();
        offer.expiresAt += 1;
        _wrongProof(offer, proof);
    }

    function test_not_on_another_chain_nor_in_another_pool() external {
        bytes memory proof = _signed(_offer());
        uint256 here = block.chainid;
        vm.chainId(here + 1);
        _wrongProof(_offer(), proof);
        vm.chainId(here);

        IController first = pool;
        pool = IController(factory.createPool(address(token), OWNER, TREASURY, _params()));
        _fund(seller);
        vm.assertEq(_registerBy(seller), machine); // the same machine by its number
        _wrongProof(_offer(), proof);
        pool = first;
        _take();
    }

    /// @dev One signature serves one account: groups of the same signers, of which each is another provider, cannot be offered
    /// in each other's names.
    function test_an_offer_names_its_provider() external {
        Offer memory offer = _offer();
        offer.account = PROVIDER;
        bytes memory call = _call(_request(machine, 8, 2 hours), offer, _signed(offer));
        _refused(tenant, call, abi.encodeWithSelector(OfferMismatch.selector, bytes32("account")));
    }

    function test_a_contract_offers() external {
        SmartWallet wallet = new SmartWallet(seller);
        vm.prank(seller);
        pool.deposit(address(wallet), 2 * STAKE);
        bytes memory register = abi.encodeCall(
            pool.register, (_terms(), 2, 1, "hardware", "contact", OPERATOR, _consent(address(pool), address(wallet)))
        );
        vm.prank(seller);
        machine = abi.decode(abi.decode(abi.encode(wallet.run(address(pool), register)), (bytes)), (uint32));
        Offer memory offer = _offer();
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        bytes memory signature = _bare(SELLER_KEY, pool.offerDigest(offer));
        bytes memory error_ = abi.encodeWithSelector(WrongProof.selector, wallet);
        _refused(tenant, _call(request, offer, abi.encodePacked(KEY, signature)), error_); // its owner is not it
        wallet.setMood(3);
        bytes memory proof = abi.encodePacked(CONTRACT, signature);
        _refused(tenant, _call(request, offer, proof), error_); // nor does it answer
        wallet.setMood(0);
        vm.prank(tenant);
        pool.openWithOffer(request, offer, proof);
        vm.assertEq(pool.offersOf(address(wallet), 0x12), 1 << 0x34);
    }

    function test_a_group_offers_and_cancels() external {
        bytes memory register = abi.encodeCall(
            pool.register, (_terms(), 2, 1, "hardware", "contact", OPERATOR, _consent(address(pool), group))
        );
        machine = abi.decode(_asGroup(_call(register)), (uint32));
        Offer memory offer = _offer();
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        bytes32 digest = pool.offerDigest(offer);
        bytes memory one = abi.encodePacked(_head(), _signature(0, digest));
        _refused(tenant, _call(request, offer, one), abi.encodeWithSelector(WrongProof.selector, group));
        vm.prank(tenant);
        uint256 lease = pool.openWithOffer(request, offer, _proof(digest, 1, 2));
        _assertState(lease, LeaseState.Opened);
        _asGroup(_call(abi.encodeCall(pool.cancelOffers, (0x12, 1))));
        vm.assertEq(pool.offersOf(group, 0x12), 1 << 0x34 | 1);
    }

    function test_a_group_takes_what_was_offered_to_it() external {
        Offer memory offer = _offer();
        offer.tenant = group;
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        _mismatch(request, offer, "tenant");
        uint256 lease = abi.decode(_asGroup(_call(_call(request, offer, _signed(offer)))), (uint256));
        vm.assertEq(pool.leaseOf(lease).tenant, group);
    }

    // ------------------------------------------------------------------------------------------------------------ gang

    function test_a_gang_opens_whole_or_not_at_all() external {
        uint32 second = _register(2);
        bytes[] memory calls = new bytes[](3);
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        calls[0] = _call(request, _offer(), _signed(_offer()));
        Offer memory other = _offer();
        other.nonce = 5;
        calls[1] = _call(request, other, _signed(other));
        LeaseRequest memory listed = _request(second, 16, 2 hours);
        calls[2] = abi.encodeCall(pool.open, (listed));

        vm.prank(seller);
        pool.cancelOffers(0, 1 << 5);
        bytes memory gang = abi.encodeCall(pool.multicall, (calls));
        _refused(tenant, gang, abi.encodeWithSelector(OfferUsed.selector, 5));
        vm.assertTrue(pool.slotCount() == 0 && pool.offersOf(seller, 0x12) == 0);

        other.nonce = 6;
        calls[1] = _call(request, other, _signed(other));
        vm.prank(tenant);
        bytes[] memory results = pool.multicall(calls);
        vm.assertEq(abi.decode(results[2], (uint256)), 3 << 16);
        vm.assertEq(pool.machineOf(machine).leased, 0xFFFF);
        vm.assertEq(pool.machineOf(second).leased, 0xFFFF);
    }
}
